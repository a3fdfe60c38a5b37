"""The README's examples, run in order on one fleet: what it shows is what a newcomer sees."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.cli.conftest import ROOT, Checkout

VM: Final = "tpu-ci-us-west4-a-0"

README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE: Final = [
    (command, [line for line in output.splitlines() if line not in ("", "...")])
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for command, output in re.findall(r"^\$ \./tidepool (.*?)(?: +#.*)?\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]
"""Commands, each with the lines of its output that the README shows."""
SHOWN: Final = {command: lines for command, lines in CONSOLE if lines}


def missing(command: str, output: str) -> list[str]:
    """What the README shows of a command and the command did not say; spaces at the ends of lines do not count."""
    said = {line.strip() for line in output.splitlines()}
    return [line for line in SHOWN[command] if line.strip() not in said]


@pytest.fixture(scope="module")
def upped(checkout: Checkout) -> tuple[Checkout, str]:
    return checkout, checkout.ok("up", "ci").output


def test_the_first_command_shows_the_fleet(upped: tuple[Checkout, str]) -> None:
    assert missing("up ci", upped[1]) == []


def test_one_number_edited_shows_the_plan(upped: tuple[Checkout, str]) -> None:
    checkout, _ = upped
    where, count = re.findall(r"write\s+`(\S+): (\d+)`", README)[0]
    checkout.edit("ci", f"        {where}: 2\n", f"        {where}: {count}\n")
    assert missing("preview ci", checkout.ok("preview", "ci").output) == []
    checkout.edit("ci", f"        {where}: {count}\n", f"        {where}: 2\n")


def test_the_commands_that_keep_a_fleet_and_practise_on_it_work(upped: tuple[Checkout, str]) -> None:
    checkout, _ = upped
    for command in (
        "cloud preempt tpu-ci-us-west4-a-0",
        "reconcile ci",
        "status",
        "why tpu-ci-us-west4-a-0",
        "cloud status",
    ):
        assert command in dict(CONSOLE)
        checkout.ok(*command.split())
    assert "preempted" in checkout.ok("why", VM).output.lower()
