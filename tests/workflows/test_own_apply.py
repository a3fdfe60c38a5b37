"""The shell that applies: every stack in its turn, each with its limit, and a failure that is told at the end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.synthetic_lab import the_lab
from workflows.own import generate_own
from workflows.world import load_world

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = """\
#!/bin/sh
echo "limit $*" >>"$LOG"
while [ "${1#-}" != "$1" ]; do shift; done
shift
exec "$@"
"""
TIDEPOOL = """\
#!/bin/sh
echo "$1 $2" >>"$LOG"
case " $FAILS " in *" $2 "*) exit 124 ;; esac
"""


@pytest.fixture(scope="module")
def script() -> str:
    [file] = [each for each in generate_own(load_world(the_lab())) if each.path.endswith("/apply.yaml")]
    [found] = [step["run"] for step in file.workflow.plain()["jobs"]["apply"]["steps"] if step.get("name") == "Apply"]
    return found


def applied(script: str, folder: Path, fails: str = "") -> tuple[int, list[str]]:
    """The exit code, and what was called in which order."""
    (folder / "bin").mkdir()
    for path, text in ((folder / "bin" / "timeout", TIMEOUT), (folder / "tidepool", TIDEPOOL)):
        path.write_text(text)
        path.chmod(0o755)
    log = folder / "log"
    environ = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "LOG": str(log), "FAILS": fails}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environ, check=False)
    return done.returncode, log.read_text().splitlines()


def test_every_stack_is_applied_in_its_turn(script: str, tmp_path: Path) -> None:
    code, log = applied(script, tmp_path)
    assert code == 0
    assert [line for line in log if line.startswith("up")] == ["up ci", "up nightly", "up training"]


def test_a_stack_that_was_stopped_keeps_no_other_from_its_turn_and_fails_the_job(script: str, tmp_path: Path) -> None:
    code, log = applied(script, tmp_path, fails="ci nightly")
    assert code == 1
    assert [line for line in log if line.startswith("up")] == ["up ci", "up nightly", "up training"]


def test_a_stack_is_asked_once_to_stop_as_by_a_person_and_has_time_to_write_its_state(
    script: str, tmp_path: Path
) -> None:
    _, log = applied(script, tmp_path)
    limits = [line.split()[1:5] for line in log if line.startswith("limit")]
    assert [limit[:3] for limit in limits] == [["--foreground", "--signal=INT", "--kill-after=5m"]] * 3
    wait = load_world(the_lab()).stacks["ci"].runners.job_minutes
    assert [limit[3] for limit in limits] == [f"{35 + wait}m", "35m", "35m"], "where VMs take jobs, jobs are waited for"
