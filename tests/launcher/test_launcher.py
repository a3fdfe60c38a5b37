"""The launcher, run in a folder of its own with recorded python and uv: what it installs, when, and what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).resolve().parents[2] / "tidepool"
EVERY_START = ("requirements.lock", "requirements-bench.lock")
"""The locks that a laptop has, in turn."""

FAKE_PYTHON = r"""#!/bin/sh
echo "python $*" >>"$RECORD"
case "$1 ${2:-}" in
  "-c "*) exit "${FAKE_PYTHON_TOO_OLD:-0}" ;;
  "-m venv") rm -rf "$4" && mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
  "-m pip")
    if [ "$3" = --version ]; then [ ! -e "$(dirname "$0")/no-pip" ] && exit 0 || exit 1; fi
    exit "${FAKE_PIP_EXIT:-0}" ;;
  "-P -m") echo "path=$PYTHONPATH" >>"$RECORD" ;;
esac
"""
FAKE_UV = r"""#!/bin/sh
echo "uv $*" >>"$RECORD"
for last; do :; done
if [ "$1" = venv ]; then mkdir -p "$last/bin" && cp "$(command -v python3)" "$last/bin/python"; fi
"""


class Machine:
    """A checkout with the launcher and a PATH that holds only the system's tools and recorded commands."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "check out"
        self.bin = folder / "bin"
        self.record = folder / "record"
        self.checkout.mkdir()
        self.bin.mkdir()
        shutil.copy(LAUNCHER, self.checkout)
        for lock in (*EVERY_START, "requirements-charts.lock", "requirements-dev.lock"):
            self.write_lock(lock, "first")
        for tool in ("sh", "dirname", "readlink", "cmp", "cp", "ln", "mkdir", "rm", "sleep"):
            (self.bin / tool).symlink_to(shutil.which(tool) or pytest.fail(f"{tool} is missing on this machine"))
        self.install("python3", FAKE_PYTHON)

    def write_lock(self, name: str, text: str) -> None:
        (self.checkout / name).write_text(text)

    def install(self, name: str, script: str) -> None:
        (self.bin / name).unlink(missing_ok=True)  # never write through a link to the machine's own tool
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def start(self, *arguments: str, launcher: Path | None = None, **environment: str) -> tuple[int, list[str], str]:
        self.record.write_text("")
        done = subprocess.run(
            [launcher or self.checkout / "tidepool", *arguments],
            cwd=self.bin.parent,
            env={"PATH": str(self.bin), "RECORD": str(self.record), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        return done.returncode, self.record.read_text().splitlines(), done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def installs(record: list[str]) -> list[str]:
    return [line for line in record if " pip install " in line]


def installed(record: list[str]) -> list[str]:
    """The locks that were installed, in turn."""
    return [line.rsplit("/", 1)[-1] for line in installs(record)]


def test_the_first_start_makes_a_venv_and_installs_tool_and_bench_by_hash_then_runs(machine: Machine) -> None:
    code, record, said = machine.start("up", "ci")
    assert code == 0
    assert installed(record) == [*EVERY_START]
    assert all("--only-binary :all: --require-hashes" in line for line in installs(record))
    assert "python -P -m infra.cli up ci" in record
    assert f"path={machine.checkout}" in record
    assert said.splitlines() == [
        "tidepool: setting up .venv from requirements.lock requirements-bench.lock (once; about a minute)"
    ]


def test_a_first_start_that_draws_names_all_that_it_sets_up_in_one_line(machine: Machine) -> None:
    _, record, said = machine.start("test", "--fast")
    locks = [*EVERY_START, "requirements-charts.lock", "requirements-dev.lock"]
    assert installed(record) == locks
    assert said.splitlines() == [f"tidepool: setting up .venv from {' '.join(locks)} (once; about a minute)"]


def test_the_second_start_installs_nothing_and_says_nothing(machine: Machine) -> None:
    machine.start("--help")
    code, record, said = machine.start("--help")
    assert (code, record[0], said) == (0, "python -P -m infra.cli --help", "")


def test_a_changed_lock_is_installed_into_the_same_venv(machine: Machine) -> None:
    machine.start()
    machine.write_lock("requirements.lock", "second")
    _, record, _ = machine.start()
    assert installed(record) == ["requirements.lock"]
    assert not any("-m venv" in line for line in record)


def test_only_the_checks_install_the_development_group(machine: Machine) -> None:
    machine.start("up", "ci")
    _, record, _ = machine.start("test", "--fast")
    assert installed(record) == ["requirements-charts.lock", "requirements-dev.lock"]


@pytest.mark.parametrize("command", ["calendar", "cost", "report", "results"])
def test_only_what_draws_or_judges_installs_the_charts_group(machine: Machine, command: str) -> None:
    _, at_first, _ = machine.start("up", "ci")
    _, record, _ = machine.start(command, "--help")
    assert (installed(at_first), installed(record)) == ([*EVERY_START], ["requirements-charts.lock"])


def test_uv_is_used_where_it_is_present(machine: Machine) -> None:
    machine.install("uv", FAKE_UV)
    _, record, _ = machine.start()
    assert any(line.startswith("uv venv") for line in record)
    assert [line.split()[0] for line in installs(record)] == ["uv", "uv"]
    assert all("--no-deps --only-binary :all: --require-hashes" in line for line in installs(record))


def test_each_lock_is_installed_by_itself(machine: Machine) -> None:
    """The bench's lock leaves out what the tool's lock holds, so an installer that looks for the hashes of dependencies
    refuses it: uv 0.13 does."""
    _, with_pip, _ = machine.start()
    machine.install("uv", FAKE_UV)
    machine.write_lock("requirements.lock", "second")
    machine.write_lock("requirements-bench.lock", "second")
    _, with_uv, _ = machine.start()
    assert len(installs(with_pip)) == len(installs(with_uv)) == 2
    assert all("--no-deps" in line for line in [*installs(with_pip), *installs(with_uv)])


def test_a_failed_installation_is_said_and_tried_again_at_the_next_start(machine: Machine) -> None:
    code, _, said = machine.start(FAKE_PIP_EXIT="1")
    assert code == 1
    assert "could not be installed" in said
    code, record, _ = machine.start()
    assert code == 0
    assert installed(record) == [*EVERY_START]


def test_a_venv_that_was_half_made_is_made_anew(machine: Machine) -> None:
    """As Ctrl-C leaves it in the first start: a Python, and no pip yet."""
    machine.start("up", "ci")
    (machine.checkout / ".venv/bin/no-pip").touch()
    (machine.checkout / ".venv/requirements.lock.stamp").unlink()
    code, record, _ = machine.start("up", "ci")
    assert code == 0
    assert any("-m venv --clear" in line for line in record)
    assert installed(record) == [*EVERY_START]


def test_a_machine_without_a_new_enough_python_is_told_what_to_do(machine: Machine) -> None:
    code, _, said = machine.start(FAKE_PYTHON_TOO_OLD="1")
    assert code == 1
    assert "no Python 3.11 or later" in said
    assert "TIDEPOOL_PYTHON" in said


def test_a_setup_whose_process_is_gone_holds_nobody_up(machine: Machine) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (machine.checkout / ".venv.setup").symlink_to(str(gone.pid))
    code, record, _ = machine.start()
    assert code == 0
    assert installed(record) == [*EVERY_START]


def test_the_launcher_works_through_a_symbolic_link(machine: Machine) -> None:
    link = machine.bin / "tidepool"
    link.symlink_to(os.path.relpath(machine.checkout / "tidepool", machine.bin))
    code, record, _ = machine.start("--help", launcher=link)
    assert code == 0
    assert f"path={machine.checkout}" in record


def test_a_setup_that_is_under_way_is_waited_for_and_not_repeated(machine: Machine) -> None:
    machine.start()
    lock = machine.checkout / "requirements.lock"
    lock.write_text("second")
    machine.install(
        "sleep",
        f"""#!/bin/sh
echo waited >>"$RECORD"
cp "{lock}" "{machine.checkout}/.venv/requirements.lock.stamp"
rm -f "{machine.checkout}/.venv.setup"
""",
    )
    (machine.checkout / ".venv.setup").symlink_to(str(os.getpid()))
    code, record, _ = machine.start("--help")
    assert code == 0
    assert record[0] == "waited"
    assert installs(record) == []
