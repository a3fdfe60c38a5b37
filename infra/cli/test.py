"""`./tidepool test`: every check of this repository.

A tool that this machine lacks is named as skipped; `--strict` makes that a failure.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import click

from infra.cli.echo import echo
from infra.operations.checkout.checks import GO_TOOLS, Outcome, checks_for, run_all
from infra.tools import install


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
    checks = checks_for(fast=fast, unit=unit, heavy=heavy, live=live, extra=pytest_args)
    outcomes = run_all(checks, partial(echo, err=True), strict=strict, quiet=as_json)
    failed = any(outcome.status == "failed" for outcome in outcomes)
    if as_json:
        echo(json.dumps({"ok": not failed, "checks": [asdict(outcome) for outcome in outcomes]}, indent=2))
    elif len(outcomes) > 1:
        report(outcomes)
    sys.exit(1 if failed else 0)


def report(outcomes: Sequence[Outcome]) -> None:
    echo()
    for outcome in outcomes:
        echo(f"{outcome.status:<8} {outcome.name:<20} {outcome.seconds:7.2f} s  {outcome.note}".rstrip())
