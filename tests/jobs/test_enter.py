"""What runs around a program in a pod: signals, exit codes and the wait before an error is told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from infra.jobs.jobset import SECRET_UNREADABLE, TPU_BUSY, enter_script

CHECKPOINTING = """
import signal, sys, pathlib
def write(*_):
    pathlib.Path(sys.argv[1]).write_text("checkpoint"); sys.exit(0)
signal.signal(signal.SIGUSR1, write)
print("ready", flush=True)
signal.pause()
"""


def entered(*argv: str, **environment: str) -> subprocess.Popen[str]:
    command = ["/bin/sh", "-c", enter_script(), "enter", *argv]
    return subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", **environment}, stdout=subprocess.PIPE, text=True)


def code_of(*argv: str, **environment: str) -> int:
    with entered(*argv, **environment) as process:
        return process.wait(timeout=20)


def test_the_exit_code_is_the_programs() -> None:
    assert not [line for line in enter_script().splitlines() if line.strip()[:1] in ("", "#")]
    assert [code_of("sh", "-c", f"exit {code}") for code in (0, 1, 42)] == [0, 1, 42]


def test_arguments_arrive_as_they_were_written() -> None:
    with entered("printf", "%s|", "a b", "$HOME", "it's") as process:
        assert process.communicate(timeout=20)[0] == "a b|$HOME|it's|"


def test_the_order_to_end_reaches_the_program_as_its_checkpoint_signal(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with entered(sys.executable, "-c", CHECKPOINTING, str(kept), TIDEPOOL_SIGNAL="USR1") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=20)
    assert kept.read_text() == "checkpoint"
    assert code == 143, "a program that ends well because it was told to has not finished its work"


def test_an_error_waits_for_a_preemption_elsewhere_to_be_seen_first(tmp_path: Path) -> None:
    """The settling time runs after the program: what the shell calls `sleep` is told how long."""
    (tmp_path / "sleep").write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/slept\n')
    (tmp_path / "sleep").chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    assert code_of("false", TIDEPOOL_SETTLE="30", PATH=path) == 1
    assert (tmp_path / "slept").read_text() == "30\n"
    assert code_of("true", TIDEPOOL_SETTLE="30", PATH=path) == 0
    assert (tmp_path / "slept").read_text() == "30\n", "success is told at once"


def test_a_programs_own_code_is_never_taken_for_a_busy_tpu_or_an_unreadable_secret() -> None:
    assert code_of("sh", "-c", f"exit {TPU_BUSY}") == 1
    assert code_of("sh", "-c", f"exit {SECRET_UNREADABLE}") == 1


def test_mounted_secrets_are_variables_of_the_program_whatever_their_characters(tmp_path: Path) -> None:
    for name, value in (("HF_TOKEN", "a b'$HOME"), ("EMPTY", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "value").write_text(value)
    printed = ("sh", "-c", 'printf "%s|%s|%s" "$HF_TOKEN" "${EMPTY-unset}" "${OTHER-unset}"')
    with entered(*printed, TIDEPOOL_SECRETS=str(tmp_path)) as process:
        assert process.communicate(timeout=20)[0] == "a b'$HOME||unset"


def test_a_secret_that_cannot_be_read_is_named_and_the_program_does_not_start(tmp_path: Path) -> None:
    """A folder without a value is one that GKE's add-on has not filled; a folder in its place cannot be read."""
    for name in ("GONE", "HF_TOKEN"):
        (tmp_path / "mounts" / name).mkdir(parents=True)
        command = ["/bin/sh", "-c", enter_script(), "enter", "touch", str(tmp_path / "started")]
        environ = {"PATH": "/usr/bin:/bin", "TIDEPOOL_SECRETS": str(tmp_path / "mounts")}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert (done.returncode, f"the secret of variable {name} cannot be read" in done.stderr) == (
            SECRET_UNREADABLE,
            True,
        )
        assert not (tmp_path / "started").exists()
        (tmp_path / "mounts" / name / "value").write_text("a")
