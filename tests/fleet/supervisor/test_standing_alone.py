"""What a VM has to bring for its supervisor: the oldest Python of the TPU runtimes, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from infra.fleet.bundle import RUNNER, runner_bundle
from infra.fleet.runner.supervisor.orders import POINTER, STARTUP, orders_object
from infra.fleet.runner.supervisor.report import report_object
from infra.model import bucket_names
from infra.model.catalogue import generations
from tests.fleet.supervisor.machine_in_memory import HOST
from tests.fleet.test_bundle import unpacked

OLDEST = (3, 10)
PYTHON_OF = {"ubuntu2204": (3, 10), "tpuv5-lite": (3, 10), "tpuv5": (3, 10), "tpuv6e": (3, 10), "ubuntu2404": (3, 12)}
"""By a part of a runtime's name, the Python of its Ubuntu (22.04 and 24.04)."""

IMPORTS_ALL = """
import pathlib, sys
bundle = sys.argv[1]
sys.path.insert(0, bundle)
before = set(sys.modules)
import supervisor.__main__
foreign = [name for name, module in sys.modules.items() if name not in before and name.partition(".")[0] != "supervisor"
           and name.partition(".")[0] not in sys.stdlib_module_names]
print(sorted(path.stem for path in pathlib.Path(bundle, "supervisor").glob("*.py") if path.stem != "__init__"
             and "supervisor." + path.stem not in sys.modules), foreign)
"""


def test_every_module_of_it_runs_from_an_unpacked_bundle_without_anything_installed(tmp_path: Path) -> None:
    unpacked(runner_bundle().content, tmp_path)
    command = [sys.executable, "-I", "-S", "-B", "-c", IMPORTS_ALL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[] []\n", ""), "every module is imported, and none from elsewhere"


def test_it_names_nothing_that_the_oldest_python_lacks() -> None:
    checker = Path(sys.executable).parent / "ty"
    version = ".".join(map(str, OLDEST))
    done = subprocess.run(
        [checker, "check", "--python-version", version, str(RUNNER / "supervisor")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_oldest_python_is_that_of_the_oldest_runtime_of_the_catalogue() -> None:
    for generation in generations():
        found = [python for part, python in PYTHON_OF.items() if generation.runtime.endswith((part, f"{part}-base"))]
        assert found, f"which Python has {generation.runtime}?"
        assert min(found) >= OLDEST


def test_it_writes_and_reads_the_objects_that_the_fleet_means() -> None:
    assert bucket_names.startup_object() == STARTUP
    assert bucket_names.pointer_object() == POINTER
    assert bucket_names.orders_object(HOST.vm) == orders_object(HOST.vm)
    assert bucket_names.report_object(HOST.pool, HOST.vm) == report_object(HOST)


def test_units_stubs_and_supervisors_of_every_age_find_what_they_start(tmp_path: Path) -> None:
    found = unpacked(runner_bundle().content, tmp_path)
    unit = found["tidepool-supervisor.service"]
    assert "ExecStart=/bin/bash /var/lib/tidepool/current/supervisor.sh\n" in unit
    assert {"start.sh", "supervisor.sh"} <= set(found)
    assert 'exec bash "$digest/start.sh"' in (RUNNER / "stub.sh").read_text()
