"""`./tidepool doctor`, `completion`, `test`, `bench` and `lock`: what is set up once, and checks of this checkout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import echo, machines
from infra.cli.failures import FAILED
from infra.cli.render import console as consoles
from infra.operations.checkout import bench, checks, figures, lock, starts
from infra.operations.setup import completion, doctor
from infra.tools import install


@click.command()
@options.json_option
@called
def doctor_command(call: Invocation) -> None:
    """Say what is here (Python, uv, pulumi, provider plugin, credentials, local cloud) and what each absence means.

    Nothing of it is an error: with none of it, Tidepool works on its embedded engine and cloud. Exit code 0.
    """
    found = doctor.diagnose()
    call.tell(found)
    if not call.as_json:
        call.say(*doctor.diagnosis_shown(found, str(Path.home())))


@click.command()
@click.argument("shell", type=options.NearChoice(lambda: completion.SHELLS))
@click.option("--install", "installs", is_flag=True, help="Turn it on in the start-up file of the shell, for good.")
def completion_command(*, shell: str, installs: bool) -> None:
    """Print what makes SHELL (bash, zsh or fish) complete commands, options, stacks, pools and VMs."""
    if installs:
        path, written = completion.install(shell)
        echo(f"{path} {'turns it on in every new shell' if written else 'has it already'}")
        return
    made = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    echo(completion.from_any_folder(made(root, {}, "tidepool", "_TIDEPOOL_COMPLETE").source() if made else ""))


@click.command()
@click.option("--fast", is_flag=True, help="Only the tests.")
@click.option("--unit", is_flag=True, help="Only the unit tests: no process, no whole stack.")
@click.option("--strict", is_flag=True, help="A tool that this machine lacks is a failure.")
@click.option("--heavy", is_flag=True, help="Also the long tiers: wall-clock kills, more seeds, larger fleets.")
@click.option("--live", is_flag=True, help="Also the tier that drives the official pulumi CLI.")
@click.option("--core", is_flag=True, help="With --live: only its core, and what this machine lacks is a failure.")
@click.option("--mutants", multiple=True, metavar="GROUP", help="Only whether the tests see changes of a group's code.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as one JSON object.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def test_command(
    *, fast: bool, unit: bool, strict: bool, heavy: bool, live: bool, core: bool, mutants: tuple[str, ...],
    as_json: bool, pytest_args: tuple[str, ...],
) -> None:  # fmt: skip
    """Run every check of this repository: style, types, layers, dependencies, dead code, shell, image recipes, secrets,
    workflows, tests.

    Further arguments after -- go to pytest: ./tidepool test --fast -- -k ledger
    """
    if unit and (heavy or live):
        raise click.UsageError("--unit leaves out what --heavy and --live add: give one or the other")
    if core and (heavy or not live):
        raise click.UsageError("--core: runs part of the live tier alone. Fix: give --live --core, without --heavy.")
    for failure in install.build(() if core else checks.GO_TOOLS):
        echo(failure, err=True)
    wanted = checks.mutant_checks(mutants) or checks.checks_for(
        fast=fast, unit=unit, heavy=heavy, live=live, core=core, extra=pytest_args
    )
    done = checks.run_all(wanted, partial(echo, err=True), strict=strict or core, quiet=as_json)
    failed = any(each.status == "failed" for each in done)
    if as_json:
        machines({"ok": not failed, "checks": [asdict(each) for each in done]})
    elif len(done) > 1:
        echo()
        for each in done:
            echo(f"{each.status:<8} {each.name:<20} {each.seconds:7.2f} s  {each.note}".rstrip())
    raise SystemExit(FAILED if failed else 0)


@click.command()
@click.option(
    "--size", "sizes", type=int, multiple=True, default=bench.SIZES, show_default=True, help="VMs in the fleet."
)
@click.option("--runs", default=3, show_default=True, help="Runs of the cold cases; the median counts.")
@click.option("--starts", "only_starts", is_flag=True, help="Only starts of commands without engine and cloud.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def bench_command(*, sizes: Sequence[int], runs: int, only_starts: bool, as_json: bool) -> None:
    """Print what explanations, previews and applies cost: seconds, CPU seconds, peak memory, cost per VM, and ratios.

    Where the pulumi CLI is on PATH it runs side by side; else its published figures stand in for it.
    """
    measured = list(starts.starts(runs) if only_starts else bench.figures(sizes, runs))
    if as_json:
        machines({"figures": [asdict(figure) for figure in measured]})
        return
    shown = figures.starts_shown if only_starts else figures.figures_shown
    consoles.say(consoles.people(), *shown(measured))


@click.command()
@click.option("--upgrade", is_flag=True, help="Take the newest versions that pyproject.toml allows.")
def lock_command(*, upgrade: bool) -> None:
    """Write every lock file anew, one an install and one for development; needs uv."""
    lock.write_locks(upgrade=upgrade)
