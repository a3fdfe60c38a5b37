"""What runs a suite: the time and the outcome of every test, and a second try for what failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.shipped_scripts import SHA, run

TOLD = {"SUITE": "unit", "COMMIT": SHA, "RUN": "77-1", "COVER": ""}


def suite(folder: Path, body: str, *modules: str, **told: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the result of a module with these tests."""
    text = "import unittest\nfrom pathlib import Path\n\n" + body
    (folder / "some_tests.py").write_text(text)
    done = run("run_suite", folder, TOLD | told, "result.json", *(modules or ("some_tests",)))
    return done.returncode, json.loads((folder / "result.json").read_text())


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {name.split(".")[-1]: one["outcome"] for name, one in result["tests"].items()}


PASSES = "    def test_a(self): pass\n"
BODIES: dict[str, tuple[str, int, dict[str, str]]] = {
    "outcomes": (
        PASSES + '    @unittest.skip("no")\n    def test_b(self): pass\n', 0, {"test_a": "passed", "test_b": "skipped"},
    ),
    "fails twice": (
        PASSES + "    def test_b(self): self.fail()\n", 1, {"test_a": "passed", "test_b": "failed"},
    ),
    "passes the second time": (
        ("    def test_a(self):\n        if not Path('tried').exists():\n            Path('tried').touch()\n"
        "            self.fail()\n"), 0, {"test_a": "flaky"},
    ),
    "subtest": ("    def test_a(self):\n        with self.subTest(1): self.fail()\n", 1, {"test_a": "failed"}),
    "unexpected success": (f"    @unittest.expectedFailure\n{PASSES}", 1, {"test_a": "failed"}),
    "asked to end": (
        f"{PASSES}    def test_b(self): os.kill(os.getpid(), signal.SIGTERM)\n    def test_c(self): pass\n", 1,
        {"test_a": "passed", "test_b": "failed"},
    ),
    "all skipped": ("    def test_a(self): self.skipTest('no TPU here')\n", 1, {"test_a": "skipped"}),
    "no set-up": (f"    @classmethod\n    def setUpClass(cls): raise OSError\n{PASSES}", 1, {}),
}  # fmt: skip


@pytest.mark.parametrize(("body", "code", "expected"), BODIES.values(), ids=BODIES)
def test_every_test_has_its_outcome_and_a_suite_passes_where_some_passed_and_none_failed(
    tmp_path: Path, body: str, code: int, expected: dict[str, str]
) -> None:
    ended, result = suite(tmp_path, f"import os, signal\nclass T(unittest.TestCase):\n{body}")
    assert (ended, result["ok"]) == (code, code == 0)
    assert expected.items() <= outcomes(result).items()
    assert all(one["seconds"] >= 0 for one in result["tests"].values())
    assert (result["suite"], result["commit"], result["run"]) == ("unit", SHA, "77-1")


@pytest.mark.parametrize("modules", [(), ("nowhere.tests",)])
def test_a_suite_without_tests_fails(tmp_path: Path, modules: tuple[str, ...]) -> None:
    code, result = suite(tmp_path, "", *modules)
    assert (code, result["ok"]) == (1, False)


COVERAGE = """
class exceptions:
    class NoDataError(Exception): pass

class Coverage:
    def __init__(self, source, data_file): self.said = [*source, data_file]
    def start(self): self.said.append("start")
    def stop(self): self.said.append("stop")
    def report(self, file):
        if self.said != ["engine", None, "start", "stop"]: raise exceptions.NoDataError
        return 81.256
"""


@pytest.mark.parametrize(("package", "percent"), [("engine", 81.26), ("another", None), ("", None)])
def test_the_coverage_of_the_package_is_told(tmp_path: Path, package: str, percent: float | None) -> None:
    (tmp_path / "coverage.py").write_text(COVERAGE)
    body = f"class T(unittest.TestCase):\n{PASSES}"
    assert suite(tmp_path, body, COVER=package)[1]["coverage"] == percent
