"""The process of the CLI: found on PATH, never asked, interrupted once."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from pulumi import automation

from infra.engines.official.runner import CliRunner
from infra.model.errors import EngineError


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a shell script in the place of the CLI; its body is what commands other than `version` run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder / "pulumi"


def install(path: Path, body: str, *, version: str = "v3.260.0") -> None:
    path.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then echo {version}; exit 0; fi\n{body}\n')
    path.chmod(0o755)


def run(tmp_path: Path, *args: str, **environment: str) -> automation.CommandResult:
    return CliRunner().run(list(args), str(tmp_path), environment)


def test_a_cli_too_old_for_the_sdk_is_refused(pulumi: Path) -> None:
    install(pulumi, "", version="v2.9.0")
    with pytest.raises(EngineError, match=r"2\.9\.0"):
        CliRunner()


def test_the_cli_runs_without_questions_in_the_folder_and_environment_given(pulumi: Path, tmp_path: Path) -> None:
    install(pulumi, 'echo "$@"; pwd; echo "$WORD $PULUMI_SKIP_UPDATE_CHECK"')
    result = run(tmp_path, "stack", "ls", WORD="said")
    assert result.stdout.splitlines() == ["--non-interactive stack ls", str(tmp_path), "said true"]


def test_a_cli_that_a_signal_ended_says_which_and_what_to_do(pulumi: Path, tmp_path: Path) -> None:
    install(pulumi, "kill -9 $$")
    with pytest.raises(automation.CommandError, match=r"SIGKILL.*settles what was in flight"):
        run(tmp_path, "up")


def test_a_flood_of_output_on_both_streams_does_not_block(pulumi: Path, tmp_path: Path) -> None:
    install(
        pulumi,
        "i=0; while [ $i -lt 3000 ]; do echo 'a line of output as the CLI writes it'; echo b >&2; i=$((i+1)); done",
    )
    result = run(tmp_path, "up")
    assert len(result.stdout.splitlines()) == len(result.stderr.splitlines()) == 3000


def test_ctrl_c_reaches_the_cli_once_and_its_end_is_awaited(pulumi: Path, tmp_path: Path) -> None:
    count, ready = tmp_path / "interrupts", tmp_path / "ready"
    os.mkfifo(ready)
    install(
        pulumi,
        f'trap "echo once >>{count}; done=1" INT; echo up >{ready}\n'
        'n=0; while [ -z "$done" ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n+1)); done; echo finished in flight',
    )
    heard: list[str] = []

    def press() -> None:
        ready.read_text()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        CliRunner().run(["up"], str(tmp_path), {}, on_output=heard.append)
    assert count.read_text().splitlines() == ["once"]
    assert heard == ["finished in flight"]


def test_the_cli_is_out_of_reach_of_the_terminals_own_interrupt(pulumi: Path, tmp_path: Path) -> None:
    install(pulumi, "ps -o pgid= -p $$")
    assert run(tmp_path, "up").stdout.strip() != str(os.getpgrp())
