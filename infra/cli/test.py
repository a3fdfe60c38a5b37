"""`./tidepool test`: every check of this repository, in the order in which a mistake is cheapest to hear of.

Owns which checks there are and how their outcome is told. Leaves what each checks to its tool and to pyproject.toml.
A tool that this machine lacks is named as skipped; `--strict` makes that a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from infra.cli.echo import echo
from infra.cli.secrets_scan import scan
from infra.tools import install

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
CODE = ("infra", "workflows", "tests")
WORKFLOW_SCHEMA = ("--builtin-schema", "vendor.github-workflows")
ACTION_SCHEMA = ("--builtin-schema", "vendor.github-actions")
TIERS = "not heavy and not live"
GO_TOOLS = ("actionlint", "crane")
"""What is built from infra/tools before the checks, where Go is on this machine and they are not there yet."""


@dataclass(frozen=True, slots=True)
class Check:
    """One tool and its arguments. `optional` tools come from outside the lock, so a machine may lack them."""

    name: str
    command: tuple[str, ...]
    optional: bool = False

    def executable(self) -> str | None:
        return shutil.which(self.command[0], path=f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check; `seconds` is wall time."""

    name: str
    status: Literal["passed", "failed", "skipped"]
    seconds: float
    note: str = ""


@click.command(name="test", short_help="Run every check of this repository.")
@click.option("--fast", is_flag=True, help="Only the tests.")
@click.option("--unit", is_flag=True, help="Only the unit tests: no process, no whole stack.")
@click.option("--strict", is_flag=True, help="A tool that this machine lacks is a failure.")
@click.option("--heavy", is_flag=True, help="Also the long tiers: wall-clock kills, more seeds, larger fleets.")
@click.option("--live", is_flag=True, help="Also the tier that drives the official pulumi CLI.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as one JSON object.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def command(
    *, fast: bool, unit: bool, strict: bool, heavy: bool, live: bool, as_json: bool, pytest_args: tuple[str, ...]
) -> None:
    """Run every check of this repository: style, types, layers, dependencies, dead code, shell, image recipes, secrets,
    workflows, tests.

    Further arguments after -- go to pytest: ./tidepool test --fast -- -k ledger
    """
    for failure in install.build(GO_TOOLS):
        echo(failure, err=True)
    if unit and (heavy or live):
        raise click.UsageError("--unit leaves out what --heavy and --live add: give one or the other")
    checks = [pytest_check(unit=unit, heavy=heavy, live=live, extra=pytest_args)]
    if not (fast or unit):
        checks = [*static_checks(), *checks]
    outcomes = [run(check, strict=strict, quiet=as_json) for check in checks]
    failed = any(outcome.status == "failed" for outcome in outcomes)
    if as_json:
        echo(json.dumps({"ok": not failed, "checks": [asdict(outcome) for outcome in outcomes]}, indent=2))
    elif len(outcomes) > 1:
        report(outcomes)
    sys.exit(1 if failed else 0)


def static_checks() -> list[Check]:
    shell = tracked(is_shell)
    workflows, actions = tracked(is_workflow), tracked(is_action)
    python = (str(path) for path in tracked(lambda path: path.suffix == ".py") if path.parts[0] in CODE)
    return [
        Check("ruff", ("ruff", "check", *CODE)),
        Check("ruff format", ("ruff", "format", "--check", *CODE)),
        Check("ty", ("ty", "check", *CODE)),
        Check("import layers", ("lint-imports",)),
        Check("unused dependencies", ("deptry", "infra", "workflows")),
        Check("dead code", ("vulture", *python)),
        Check("shellcheck", ("shellcheck", *map(str, shell))),
        Check("hadolint", ("hadolint", *map(str, tracked(is_dockerfile)))),
        Check("secrets", scan(tracked(lambda _: True))),
        Check("shfmt", ("shfmt", "-i", "2", "-ci", "-d", *map(str, shell))),
        Check("workflow schema", ("check-jsonschema", *WORKFLOW_SCHEMA, *map(str, workflows))),
        Check("action schema", ("check-jsonschema", *ACTION_SCHEMA, *map(str, actions))),
        Check("zizmor", ("zizmor", "--offline", "--no-progress", *map(str, (*workflows, *actions)))),
        *actionlint_checks(workflows),
        Check("generated workflows", (sys.executable, "-m", "infra.cli", "workflows", "--check")),
        Check("crane", ("crane", "version"), optional=True),
        Check("gcloud", ("gcloud", "version"), optional=True),
    ]


def actionlint_checks(workflows: Sequence[Path]) -> Iterator[Check]:
    """One check a repository, for each has runners, and so labels, of its own: this one, and copies for others."""
    for top in sorted({path.parents[2] for path in workflows}):
        labels = top / ".github" / "actionlint.yaml"
        config = ("-config-file", str(labels)) if (ROOT / labels).is_file() else ()
        shell = ("-shellcheck", str(BIN / "shellcheck"))
        files = (str(path) for path in workflows if path.parents[2] == top)
        name = "actionlint" if top == Path() else f"actionlint {top.name}"
        yield Check(name, ("actionlint", *config, *shell, *files), optional=True)


def pytest_check(*, unit: bool, heavy: bool, live: bool, extra: Sequence[str]) -> Check:
    tiers = (("heavy", heavy), ("live", live), ("end_to_end", not unit))
    excluded = [f"not {tier}" for tier, wanted in tiers if not wanted]
    # Replacing a worker that crashed, xdist waits for ever for a module of tests that the dead one had begun.
    workers = () if extra else ("-n", "2", "--dist", "loadscope", "--max-worker-restart", "0")
    return Check("pytest", ("pytest", "-m", " and ".join(excluded), *workers, *extra))


def tracked(wanted: Callable[[Path], bool]) -> list[Path]:
    """The files of this checkout that git tracks or would track, relative to its root.

    Raises ClickException where git is missing or this is no checkout, as in an unpacked source archive.
    """
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise click.ClickException(
            f"git does not say which files to check ({reason}). Run `./tidepool test --fast` for the tests alone; "
            "in a source archive, `git init && ./tidepool test` runs every check."
        ) from None
    paths = (Path(line) for line in listed.stdout.splitlines())
    return sorted(path for path in paths if (ROOT / path).is_file() and wanted(path))


def is_workflow(path: Path) -> bool:
    """Of this repository, or a copy of another's in workflows/generated; the faulty ones of tests are neither."""
    return path.parent.parts[-2:] == (".github", "workflows") and path.parts[0] in {".github", "workflows"}


def is_action(path: Path) -> bool:
    """Of this project's own, which workflows of all repositories call; actionlint reads no such file."""
    return path.parts[0] == "actions" and path.name == "action.yml"


def is_shell(path: Path) -> bool:
    if path.suffix:
        return path.suffix == ".sh"
    with (ROOT / path).open("rb") as file:
        first = file.readline(80)
    return first.startswith(b"#!") and first.split()[0].rsplit(b"/", 1)[-1] in {b"sh", b"bash"}


def is_dockerfile(path: Path) -> bool:
    return path.stem == "Dockerfile" and path.suffix != ".dockerignore"


def run(check: Check, *, strict: bool, quiet: bool) -> Outcome:
    executable = check.executable()
    if executable is None:
        missing = f"{check.command[0]} is not on this machine"
        status = "skipped" if check.optional and not strict else "failed"
        echo(f"{check.name}: {missing}", err=True)
        return Outcome(check.name, status, 0.0, missing)
    echo(f"-- {check.name}", err=True)
    started = time.perf_counter()
    environment = {**os.environ, "TIDEPOOL_STRICT": "1" if strict else "0"}
    done = subprocess.run(
        [executable, *check.command[1:]],
        cwd=ROOT, check=False, env=environment, stdout=sys.stderr if quiet else None,
    )  # fmt: skip
    seconds = round(time.perf_counter() - started, 2)
    return Outcome(check.name, "passed" if done.returncode == 0 else "failed", seconds)


def report(outcomes: Sequence[Outcome]) -> None:
    echo()
    for outcome in outcomes:
        echo(f"{outcome.status:<8} {outcome.name:<20} {outcome.seconds:7.2f} s  {outcome.note}".rstrip())
