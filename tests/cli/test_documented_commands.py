"""The commands of README and docs, run page by page on one fleet: each works, and shows what the README says it shows.

Runbooks have a test of their own (`tests/cli/fleet/test_runbooks.py`).
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from tests.cli.conftest import ROOT, Checkout
from tests.test_pages import OF_TODAY

VM: Final = "tpu-ci-us-west4-a-0"
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(r"^ *```(?:console|sh|bash)?\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMAND: Final = re.compile(r"^ *(?:\$ )?\./tidepool (.*?)(?: +#.*)?\n((?:(?! *(?:\$ |\./)).*\n)*)", re.MULTILINE)
NOT_RUN: Final = {
    "bootstrap": "prepares a project of Google's: tests/cli/test_bootstrap.py",
    "broker serve": "serves until Ctrl-C: tests/fleet/broker",
    "comment": "compares with a branch, and posts to GitHub: tests/cli/test_preview_comment.py, tests/github",
    "drift report": "posts to GitHub: tests/github",
    "images build controller": "builds a real image: tests/lab/test_real_builds.py, in the heavy tier",
    "init": "writes another lab: tests/lab/test_init.py",
    "cloud reset": "deletes what the commands of other pages need: tests/cli/test_cloud.py",
    "cloud k8s preempt NODE": "names a node of a page's reader: bench/tests/kubernetes",
    "cloud k8s status": "is about a job of a page's reader: bench/tests/kubernetes",
    "jobs": "go to a cluster with operators: tests/jobs, tests/cli/test_training_command.py",
    "explain": "compares with a commit: tests/cli/test_explain_command.py",
    "cloud k8s use": "takes a real API server: tests/engines/live",
    "up training --kube": "takes a real API server: tests/engines/live",
    "preview swap": "a stack that the page makes up: tests/engines/test_phases_never.py",
    "report --serve": "serves until Ctrl-C: tests/cli/test_report_command.py",
    "results publish": "takes the files of a test run: tests/results/test_result_commands.py",
    "results report": "reads published results: tests/results/test_result_commands.py",
    "results open": "opens a browser: tests/results/test_result_commands.py",
    "run-on": "waits for a program on a VM: tests/fleet/runs",
    "test": "runs this test",
}
"""Commands by their beginning, and why no test here runs them."""
PLACEHOLDERS: Final = {"VM": VM, "POOL": "tpu-ci"}


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """Each command of a page's code, without comments, and the lines of output that the page shows of it."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    found = [each for block in blocks for each in COMMAND.findall(block.replace("\\\n", " "))]
    return [(command, [line for line in output.splitlines() if line not in ("", "...")]) for command, output in found]


def reason_not_to_run(command: str) -> str | None:
    return next((why for beginning, why in NOT_RUN.items() if command.startswith(beginning)), None)


RUN: Final = [
    pytest.param(page, [command for command, _ in commands(page) if reason_not_to_run(command) is None], id=page.stem)
    for page in sorted(OF_TODAY, key=lambda page: page.stem != "training")
    if page.parent.name != "runbooks"
]
"""The page on training first: others show commands for the cluster that it creates."""


def missing(command: str, output: str) -> list[str]:
    """What the README shows of a command and the command did not print; spaces at the ends of lines do not count."""
    shown = next(lines for words, lines in commands(ROOT / "README.md") if words == command and lines)
    printed = {line.strip() for line in output.splitlines()}
    return [line for line in shown if line.strip() not in printed]


def test_the_first_command_shows_the_fleet(checkout: Checkout) -> None:
    assert missing("up ci", checkout.ok("up", "ci").output) == []


def test_one_number_edited_shows_the_plan(checkout: Checkout) -> None:
    where, count = re.findall(r"write\s+`(\S+): (\d+)`", README)[0]
    checkout.edit("ci", f"        {where}: 2\n", f"        {where}: {count}\n")
    assert missing("preview ci", checkout.ok("preview", "ci").output) == []
    checkout.edit("ci", f"        {where}: {count}\n", f"        {where}: 2\n")


@pytest.mark.parametrize(("page", "lines"), [each for each in RUN if each.values[1]])
def test_every_command_of_a_page_works(
    checkout: Checkout, page: Path, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checkout.ok("cloud", "start")
    checkout.ok("cloud", "fail", "--mend-all")
    for line in lines:
        command, _, file = line.partition(" > ")
        words = [PLACEHOLDERS.get(word, word) for word in shlex.split(command)]
        result = checkout.run(*words)
        assert result.exit_code == 0, f"{page.name}: ./tidepool {line}\n{result.output}"
        if file:
            (tmp_path / Path(file).name).write_text(result.stdout)


def test_a_reason_not_to_run_a_command_is_of_a_command_that_a_page_shows() -> None:
    shown = [command for page in OF_TODAY for command, _ in commands(page)]
    assert {beginning for beginning in NOT_RUN if not any(each.startswith(beginning) for each in shown)} == set()
    named = {path for why in NOT_RUN.values() for path in re.findall(r"(?:bench/)?tests/[\w/]+(?:\.py)?", why)}
    assert {path for path in named if not (ROOT / path).exists()} == set()
