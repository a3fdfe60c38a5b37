"""What runs a suite: the time and the outcome of every test, and a second try for what failed."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.shipped_scripts import SHA, run

TOLD = {"SUITE": "unit", "COMMIT": SHA, "RUN": "77-1", "COVER": ""}


def suite(folder: Path, body: str, *modules: str, **told: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the result of a module with these tests."""
    text = "import unittest\nfrom pathlib import Path\n\n" + textwrap.dedent(body)
    (folder / "some_tests.py").write_text(text)
    done = run("run_suite", folder, TOLD | told, "result.json", *(modules or ("some_tests",)))
    return done.returncode, json.loads((folder / "result.json").read_text())


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {name.split(".")[-1]: one["outcome"] for name, one in result["tests"].items()}


def test_every_test_has_its_outcome_and_its_seconds(tmp_path: Path) -> None:
    code, result = suite(
        tmp_path,
        """
        class T(unittest.TestCase):
            def test_a(self): pass
            @unittest.skip("no")
            def test_b(self): pass
        """,
    )
    assert (code, result["ok"]) == (0, True)
    assert outcomes(result) == {"test_a": "passed", "test_b": "skipped"}
    assert all(one["seconds"] >= 0 for one in result["tests"].values())
    assert (result["suite"], result["commit"], result["run"]) == ("unit", SHA, "77-1")


def test_a_test_that_fails_twice_fails_the_suite(tmp_path: Path) -> None:
    code, result = suite(
        tmp_path,
        """
        class T(unittest.TestCase):
            def test_a(self): self.fail()
            def test_b(self): pass
        """,
    )
    assert (code, result["ok"]) == (1, False)
    assert outcomes(result) == {"test_a": "failed", "test_b": "passed"}


def test_a_test_that_passes_the_second_time_is_flaky_and_no_failure(tmp_path: Path) -> None:
    code, result = suite(
        tmp_path,
        """
        class T(unittest.TestCase):
            def test_a(self):
                if not Path("tried").exists():
                    Path("tried").touch()
                    self.fail()
        """,
    )
    assert (code, outcomes(result)) == (0, {"test_a": "flaky"})


def test_a_failing_subtest_and_an_unexpected_success_are_failures(tmp_path: Path) -> None:
    code, result = suite(
        tmp_path,
        """
        class T(unittest.TestCase):
            def test_a(self):
                with self.subTest(1): self.fail()
            @unittest.expectedFailure
            def test_b(self): pass
        """,
    )
    assert code == 1
    assert outcomes(result) == {"test_a": "failed", "test_b": "failed"}


PASSES = "    def test_a(self): pass\n"


@pytest.mark.parametrize(
    ("body", "modules"),
    [
        ("", []),
        ("", ["nowhere.tests"]),
        ('class T(unittest.TestCase):\n    def test_a(self): self.skipTest("no TPU here")\n', []),
        ("class T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): raise OSError\n" + PASSES, []),
    ],
    ids=["no tests", "no such module", "all skipped", "no set-up"],
)
def test_a_suite_in_which_nothing_passed_fails(tmp_path: Path, body: str, modules: list[str]) -> None:
    code, result = suite(tmp_path, body, *modules)
    assert (code, result["ok"]) == (1, False)


def test_a_suite_that_is_asked_to_end_names_the_test_that_ran(tmp_path: Path) -> None:
    code, result = suite(
        tmp_path,
        """
        import os, signal

        class T(unittest.TestCase):
            def test_a(self): pass
            def test_b(self): os.kill(os.getpid(), signal.SIGTERM)
            def test_c(self): pass
        """,
    )
    assert (code, result["ok"]) == (1, False)
    assert outcomes(result) == {"test_a": "passed", "test_b": "failed"}


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
