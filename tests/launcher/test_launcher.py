"""The launcher, run in a folder of its own with recorded python and uv: what it installs, when, and what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).resolve().parents[2] / "tidepool"
EVERY_START = ("requirements.lock", "requirements-bench.lock")
"""The locks that a laptop has, in turn."""

FAKE_PYTHON = r"""#!/bin/sh
[ "$2" != compileall ] || { : >"$RECORD.compiled"; exit; }  # runs beside what else is recorded
echo "python $*" >>"$RECORD"
here=$(dirname "$0")
case "$*" in
  -c*pip*) [ ! -e "$here/no-pip" ] && exit "${FAKE_PIP_TOO_OLD:-0}" ;;
  -c*) exit "${FAKE_PYTHON_TOO_OLD:-0}" ;;
  "-m venv --clear --without-pip "*)
    rm -rf "$5" && mkdir -p "$5/bin" && cp "$0" "$5/bin/python" && : >"$5/bin/no-pip" ;;
  "-m venv --clear "*) rm -rf "$4" && mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
  "-m pip --version") [ ! -e "$here/no-pip" ] ;;
  "-m pip "*requirements-uv.lock)
    [ -z "${FAKE_NO_UV:-}" ] || { echo "pip: no uv for this platform" >&2; exit 1; }
    cp "$(dirname "$RECORD")/uv" "$(dirname "$4")/uv" ;;
  "-m pip "*) rm -f "$(dirname "$4")/no-pip"; exit "${FAKE_PIP_EXIT:-0}" ;;
  "-P "*like_pip.py*) shift 2; exec "$@" ;;
  "-P -m"*) echo "path=$PYTHONPATH" >>"$RECORD" ;;
esac
"""
FAKE_UV = r"""#!/bin/sh
echo "uv $*" >>"$RECORD"
for last; do :; done
if [ "$1" = venv ]; then
  mkdir -p "$last/bin" && cp "$(command -v python3)" "$last/bin/python" && : >"$last/bin/no-pip"
else
  rm -f "$VIRTUAL_ENV/bin/no-pip"
  exit "${FAKE_UV_EXIT:-0}"
fi
"""


class Machine:
    """A checkout with the launcher and a PATH that holds only the system's tools and recorded commands."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "check out"
        self.launcher = self.checkout / "tidepool"
        self.bin = folder / "bin"
        self.record = folder / "record"
        self.checkout.mkdir()
        self.bin.mkdir()
        shutil.copy(LAUNCHER, self.checkout)
        for lock in (*EVERY_START, "requirements-charts.lock", "requirements-dev.lock", "requirements-uv.lock"):
            self.write_lock(lock, "first")
        (folder / "uv").write_text(FAKE_UV)
        (folder / "uv").chmod(0o755)
        for tool in ("sh", "dirname", "readlink", "cmp", "cp", "ln", "mkdir", "rm", "sleep"):
            (self.bin / tool).symlink_to(shutil.which(tool) or pytest.fail(f"{tool} is missing on this machine"))
        self.install("python3", FAKE_PYTHON)

    def write_lock(self, name: str, text: str) -> None:
        (self.checkout / name).write_text(text)

    def install(self, name: str, script: str) -> None:
        (self.bin / name).unlink(missing_ok=True)  # never write through a link to the machine's own tool
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def start(self, *arguments: str, **environment: str) -> tuple[int, list[str], str]:
        self.record.write_text("")
        done = subprocess.run(
            [self.launcher, *arguments],
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
    """The calls that install packages of the tool."""
    return [line for line in record if " install " in line and "like_pip" not in line and "requirements-uv" not in line]


def installed(record: list[str]) -> list[str]:
    """The locks that were installed, in turn."""
    words = [word for line in installs(record) for word in line.split()]
    return [word.rsplit("/", 1)[-1] for word in words if word.endswith(".lock")]


def _await(path: Path) -> None:
    """Return once a process in the background has written a file."""
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} was never written"
        time.sleep(0.01)


def installers(record: list[str]) -> list[str]:
    """What installed packages of the tool: uv or python (its pip)."""
    return [line.split()[0] for line in installs(record)]


def test_the_first_start_creates_a_venv_installs_tool_and_bench_by_hash_and_runs(machine: Machine) -> None:
    code, record, said = machine.start("up", "ci")
    assert code == 0
    assert installed(record) == [*EVERY_START]
    assert all("--no-deps --only-binary :all: --require-hashes" in line for line in installs(record))
    assert "python -P -m infra.cli up ci" in record
    assert f"path={machine.checkout}" in record
    assert said == "tidepool: setting up .venv from requirements.lock requirements-bench.lock (once)\n"


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


CHARTS, DEV = "requirements-charts.lock", "requirements-dev.lock"


@pytest.mark.parametrize(
    ("command", "locks"),
    [*((each, [CHARTS]) for each in ("calendar", "cost", "report", "results")), ("test", [CHARTS, DEV])],
)
def test_only_what_draws_or_judges_installs_more(machine: Machine, command: str, locks: list[str]) -> None:
    _, at_first, _ = machine.start("up", "ci")
    _, record, said = machine.start(command, "--help")
    assert (installed(at_first), installed(record)) == ([*EVERY_START], locks)
    assert said == f"tidepool: setting up .venv from {' '.join(locks)} (once)\n"


@pytest.mark.parametrize(
    ("uv_on_path", "environment", "expected"),
    [
        (True, {}, ["uv"]),
        (True, {"TIDEPOOL_INSTALLER": "pip"}, ["python"]),
        (False, {}, ["uv"]),
        (False, {"TIDEPOOL_INSTALLER": "pip"}, ["python"]),
        (False, {"FAKE_NO_UV": "1"}, ["python"]),
        (False, {"FAKE_UV_EXIT": "1"}, ["uv", "python"]),
    ],
)
def test_uv_installs_where_it_can_be_had_and_pip_where_not(
    machine: Machine, uv_on_path: bool, environment: dict[str, str], expected: list[str]
) -> None:
    """Either installs all locks in one call: every file by its hash, and no package is built."""
    if uv_on_path:
        machine.install("uv", FAKE_UV)
    code, record, said = machine.start(**environment)
    assert (code, installers(record)) == (0, expected)
    assert all("--no-deps --only-binary :all: --require-hashes" in line for line in installs(record))
    assert installed(record) == [*EVERY_START] * len(expected)
    pinned = [line for line in record if "requirements-uv.lock" in line]
    assert bool(pinned) is (not uv_on_path and "TIDEPOOL_INSTALLER" not in environment)
    assert all("--only-binary :all: --require-hashes" in line for line in pinned)
    assert "no uv for this platform" not in said


def test_the_pinned_uv_is_installed_once_and_again_when_its_lock_changes(machine: Machine) -> None:
    machine.start("up", "ci")
    _, same, _ = machine.start("cost")
    machine.write_lock("requirements-uv.lock", "second")
    _, changed, _ = machine.start("test")
    assert [any("requirements-uv.lock" in line for line in record) for record in (same, changed)] == [False, True]


@pytest.mark.parametrize(("environment", "compiles"), [({}, False), ({"PYTHONDONTWRITEBYTECODE": "1"}, True)])
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_packages_but_the_largest_module_are_compiled_at_the_setup_only_where_an_import_may_not_write_bytecode(
    machine: Machine, installer: str, environment: dict[str, str], compiles: bool
) -> None:
    _, record, _ = machine.start(TIDEPOOL_INSTALLER=installer, **environment)
    (call,) = installs(record)
    assert (" --no-compile " not in call if installer == "pip" else " --compile-bytecode " in call) is compiles
    largest = machine.record.with_name("record.compiled")
    if compiles:
        assert not largest.exists()
    else:
        _await(largest)


@pytest.mark.parametrize("broken", [{"FAKE_PIP_TOO_OLD": "1"}, {}])
def test_a_python_without_a_pip_that_installs_elsewhere_gives_the_venv_its_own(
    machine: Machine, broken: dict[str, str]
) -> None:
    """Debian's python3 has no pip of its own; pip before 22.3 has no --python."""
    if not broken:
        (machine.bin / "no-pip").touch()
    code, record, _ = machine.start(**broken)
    assert (code, installed(record)) == (0, [*EVERY_START])
    assert f"python -m venv --clear {machine.checkout}/.venv" in record
    assert not any("no-pip" in line for line in record)


def test_a_failed_installation_is_reported_and_tried_again_at_the_next_start(machine: Machine) -> None:
    code, _, said = machine.start(FAKE_PIP_EXIT="1", FAKE_UV_EXIT="1")
    assert code == 1
    assert "could not be installed" in said
    code, record, _ = machine.start()
    assert code == 0
    assert installed(record) == [*EVERY_START]


@pytest.mark.parametrize("left", ["no python", "no pip"])
def test_a_venv_that_was_half_made_is_made_anew(machine: Machine, left: str) -> None:
    """As Ctrl-C leaves it in the first start."""
    machine.start("up", "ci")
    if left == "no python":
        (machine.checkout / ".venv/bin/python").unlink()
    else:
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
    link.symlink_to(os.path.relpath(machine.launcher, machine.bin))
    machine.launcher = link
    code, record, _ = machine.start("--help")
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
