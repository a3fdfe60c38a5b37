"""The list of tests: what pytest's plugin writes in a consumer's checkout, and what reading the files gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflows.specs import ROOT
from workflows.collected import Collected, read_checkout, read_collected, read_module

PYPROJECT = """
[tool.pytest.ini_options]
addopts = "-m 'not slow'"
markers = ["slow: takes hours", "ray: needs Ray", "tpu_ci: needs a TPU", "entry: whole programs"]
"""
TESTS = """
import unittest
import pytest
from pytest import mark

hours = pytest.mark.slow

def helper_test(): ...

def test_plain(): ...

@hours
def test_hours(): ...

@mark.ray
@pytest.mark.skipif(False, reason="never")
async def test_ray(): ...

@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.tpu_ci), pytest.param(3, marks=[hours])])
def test_sizes(size): ...

@pytest.mark.parametrize("size", argvalues=[1])
def test_named(size): ...

@pytest.mark.tpu_ci
class TestDevices:
    pytestmark = [pytest.mark.entry]

    def test_one(self): ...

    class TestInner:
        @hours
        def test_two(self): ...

class TestThatIsMade:
    def __init__(self): ...

    def test_never(self): ...

class Old(unittest.TestCase):
    @pytest.mark.ray
    def test_old(self): ...
"""
WHOLE = """
import pytest

pytestmark = pytest.mark.tpu_ci

def test_on_tpu(): ...
"""
EXPECTED = {
    ("lib/lab/tests/test_all.py", "test_plain", ""),
    ("lib/lab/tests/test_all.py", "test_hours", "slow"),
    ("lib/lab/tests/test_all.py", "test_ray", "ray"),
    ("lib/lab/tests/test_all.py", "test_named", ""),
    ("lib/lab/tests/test_all.py", "test_sizes", ""),
    ("lib/lab/tests/test_all.py", "test_sizes", "tpu_ci"),
    ("lib/lab/tests/test_all.py", "test_sizes", "slow"),
    ("lib/lab/tests/test_all.py", "TestDevices::test_one", "entry tpu_ci"),
    ("lib/lab/tests/test_all.py", "TestDevices::TestInner::test_two", "entry slow tpu_ci"),
    ("lib/lab/tests/test_all.py", "Old::test_old", "ray"),
    ("lib/lab/tests/tpu/whole_test.py", "test_on_tpu", "tpu_ci"),
}


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A checkout of a monorepo with one package."""
    package = tmp_path / "lab" / "lib" / "lab"
    (package / "tests" / "tpu").mkdir(parents=True)
    (tmp_path / "lab" / ".git").mkdir()
    (package / "pyproject.toml").write_text(PYPROJECT)
    (package / "tests" / "test_all.py").write_text(TESTS)
    (package / "tests" / "tpu" / "whole_test.py").write_text(WHOLE)
    (package / "tests" / "helpers.py").write_text("def test_helper(): ...\n")
    return tmp_path / "lab"


def rows(listed: Collected) -> set[tuple[str, str, str]]:
    return {(test.path, test.name, " ".join(sorted(test.markers))) for test in listed.tests}


def collect(lab: Path, file: Path, *paths: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tidepool_markers", "--collect-only", "-q", "-o", "addopts="),
            *("-p", "no:cacheprovider", f"--tidepool-tests={file}", *paths),
        ],
        cwd=lab / "lib" / "lab",
        env={
            "PYTHONPATH": str(ROOT / "workflows" / "collect"), "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "",
        },
        check=False,
        capture_output=True,
        text=True,
    )  # fmt: skip


def test_reading_the_files_gives_what_pytest_collects(lab: Path, tmp_path: Path) -> None:
    file = tmp_path / "lab.tests"
    done = collect(lab, file, "tests")
    assert done.returncode == 0, done.stdout + done.stderr
    collected = read_collected(file.read_text(), "lab.tests")
    static = read_checkout(lab, ["lib/lab/tests"])
    assert rows(collected) == rows(static) == EXPECTED
    assert {"slow", "ray", "tpu_ci", "entry"} <= collected.declared
    assert static.declared == {"slow", "ray", "tpu_ci", "entry"}


def test_the_plugin_leaves_other_packages_and_the_first_lines_as_they_stand(lab: Path, tmp_path: Path) -> None:
    file = tmp_path / "lab.tests"
    file.write_text(
        "# the lab's\n\nmarkers: torch\ntests/test_marin.py\n  test_marin\nlib/lab/tests/test_gone.py\n  test_gone\n"
    )
    assert collect(lab, file, "tests").returncode == 0
    text = file.read_text()
    assert text.startswith("# the lab's\n# collected lib/lab/tests by pytest on ")
    listed = read_collected(text, "lab.tests")
    assert rows(listed) == EXPECTED | {("tests/test_marin.py", "test_marin", "")}
    assert "torch" in listed.declared
    assert collect(lab, file, "tests").returncode == 0
    assert file.read_text() == text


def test_a_collection_that_fails_leaves_the_list_alone(lab: Path, tmp_path: Path) -> None:
    file = tmp_path / "lab.tests"
    (lab / "lib" / "lab" / "tests" / "test_broken.py").write_text("import nothing_like_it\n")
    assert collect(lab, file, "tests").returncode != 0
    assert not file.exists()


def test_markers_of_other_modules_are_not_seen_which_the_list_says() -> None:
    assert [test.markers for test in read_module("@helpers.slow\ndef test_a(): ...\n", "test_a.py")] == [frozenset()]
