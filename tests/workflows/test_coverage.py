"""What a specification names is in its repository, and each test runs in exactly the jobs it should."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from infra.model.errors import ConfigError
from infra.operations.workflows.scene import read_files
from tests.synthetic_lab import the_lab
from tests.workflows import specs
from workflows.collected import Collected, Test, load_collected, read_collected
from workflows.coverage import Checkout, Gap, Selection, cover, missing, of_spec, project
from workflows.markers import parse
from workflows.spec import SpecLine, load_spec
from workflows.world import load_world

LINE = SpecLine("workflows/spec/lab.yaml", 3, "tests[0]")
DECLARED = frozenset(("slow", "ray", "tpu_ci"))


def job(name: str, markers: str, *paths: str, package: str = "lab") -> Selection:
    return Selection("tests.yaml", name, package, paths or ("tests",), parse(markers), LINE)


def gap(markers: str, package: str = "lab") -> Gap:
    return Gap(package, parse(markers), "it takes hours", LINE)


def a_test(name: str, *markers: str, path: str = "tests/test_a.py") -> Test:
    return Test(path, name, frozenset(markers))


TPU = job("tpu", "tpu_ci")


@pytest.mark.parametrize(
    ("tests", "jobs", "gaps", "said"),
    [
        ([a_test("a"), a_test("b", "ray")], [job("cpu", "not ray"), job("ray", "ray")], [], []),
        (
            [a_test("a", "slow"), a_test("b")],
            [job("cpu", "not slow")],
            [],
            ["tests/test_a.py::a: no job runs it (marked slow)"],
        ),
        ([a_test("a")], [job("cpu", "not tpu_ci"), TPU], [], ["tests.yaml tpu selects no test of the list"]),
        ([a_test("a")], [job("cpu", "not tpu_ci"), replace(TPU, empty_because="x")], [], []),
        (
            [a_test("a"), a_test("b", "tpu_ci")],
            [job("cpu", "not tpu_ci"), replace(TPU, empty_because="x")],
            [],
            ["is said to select none"],
        ),
        (
            [a_test("a", "tpu_ci")],
            [job("cpu", "not slow"), TPU],
            [],
            ["2 jobs run it (marked tpu_ci): tests.yaml cpu, tests.yaml tpu"],
        ),
        (
            [a_test("a", path="testsuite/test_a.py"), a_test("b")],
            [job("cpu", "")],
            [],
            ["testsuite/test_a.py::a: no job runs it"],
        ),
        ([a_test("a", "slow"), a_test("b")], [job("cpu", "not slow")], [gap("slow")], []),
        (
            [a_test("a", "slow"), a_test("b")],
            [job("cpu", "not slow")],
            [gap("slow", package="other")],
            ["no job runs it (marked slow)"],
        ),
        (
            [a_test("a", "slow")],
            [job("cpu", "")],
            [gap("slow")],
            ["says that it runs nowhere, and tests.yaml cpu runs it"],
        ),
        (
            [a_test("a")],
            [job("cpu", "not slwo")],
            [],
            ["workflows/spec/lab.yaml:3 tests[0]: pytest knows no marker slwo"],
        ),
    ],
)
def test_each_test_runs_in_exactly_one_job_or_is_named(
    tests: list[Test], jobs: list[Selection], gaps: list[Gap], said: list[str]
) -> None:
    found = cover(Collected(tuple(tests), DECLARED), jobs, gaps)
    assert found.complete is not bool(said)
    assert [part in whole for part, whole in zip(said, found.findings(), strict=True)] == [True] * len(said)


def test_a_list_with_mistakes_is_refused_with_every_line() -> None:
    with pytest.raises(ConfigError) as refused:
        read_collected("  test_first\nwhat is this\n", "lab.tests")
    assert [each.subject for each in refused.value.problems] == ["lab.tests", "lab.tests:1", "lab.tests:2"]


def test_the_labs_tests_run_in_exactly_the_jobs_they_should() -> None:
    collected = load_collected(the_lab(), "marin")
    assert collected is not None
    found = of_spec(load_spec(the_lab(), "marin", load_world(the_lab())), collected)
    assert list(found.findings()) == []
    assert {gap.package: count for gap, count in found.by_gap}["levanter"] == 1


GROUPS = '[dependency-groups]\ntest = ["pytest"]\n'
PROJECTS = {
    "pyproject.toml": f'[project]\nname = "marin"\n[project.optional-dependencies]\ncpu = []\ntpu = []\n{GROUPS}',
    "lib/levanter/pyproject.toml": f'[project]\nname = "Levanter"\n{GROUPS}',
    "lib/haliax/pyproject.toml": f'[project]\nname = "haliax"\n{GROUPS}',
}
FILES = ("uv.lock", "tests/test_a.py", "tests/tpu/test_b.py", "lib/levanter/tests/test_c.py", "lib/haliax/src/a.py")


def checkout(**texts: str) -> Checkout:
    """The monorepo as far as the specification names it; texts: other contents by path, with `__` for the slashes."""
    whole = PROJECTS | {path.replace("__", "/"): text for path, text in texts.items()}
    read = (project(path, text) for path, text in whole.items())
    return Checkout(frozenset((*whole, *FILES)), dict(each for each in read if each))


def said(there: Checkout, *edits: tuple[str, str]) -> list[tuple[str, str]]:
    return [(each.value, each.rule) for each in missing(specs.spec("marin", *edits), there)]


def test_nothing_is_missing_where_everything_is_there() -> None:
    assert said(checkout()) == []


@pytest.mark.parametrize(
    ("edit", "value", "rule"),
    [
        (("        package: marin\n", "        package: marine\n"), "marine", "has this name"),
        (("        tests: [tests/tpu]\n", "        tests: [tests/tpus]\n"), "tests/tpus", "pytest finds nothing there"),
        (("        extras: [tpu]\n", "        extras: [tpus]\n"), "tpus", "declares no such extra"),
        (("        groups: [test]\n", "        groups: [tests]\n"), "tests", "declares no such group"),
        (
            ("        folder: lib/levanter\n", "        folder: lib/levant\n"),
            "lib/levant/tests",
            "pytest finds nothing",
        ),
    ],
)
def test_what_is_named_and_nowhere_is_told(edit: tuple[str, str], value: str, rule: str) -> None:
    ((found, why),) = said(checkout(), edit)
    assert found == value
    assert rule in why


def test_a_filter_of_paths_that_matches_no_file_is_told_with_its_line() -> None:
    made = specs.spec("marin", ("lib/haliax/**", "lib/halyax/**"))
    (found,) = missing(made, checkout())
    assert found.value == "lib/halyax/**"
    assert str(found.subject).startswith("workflows/spec/marin.yaml:")


def test_names_are_compared_as_packages_are() -> None:
    found = project("a/pyproject.toml", '[project]\nname = "Lab_Tools.x"\n')
    assert found
    assert found[0] == "lab-tools-x"


def test_a_pyproject_that_is_none_is_refused_and_one_without_a_package_is_no_package() -> None:
    with pytest.raises(ConfigError, match=r"a/pyproject\.toml"):
        project("a/pyproject.toml", "[project\n")
    assert project("a/pyproject.toml", "[tool.ruff]\n") is None


def test_a_folder_without_packages_is_no_repository_yet(tmp_path: Path) -> None:
    assert read_files(tmp_path) is None
    for path, text in {**PROJECTS, **dict.fromkeys(FILES, ""), ".venv/pyproject.toml": "[project"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    there = read_files(tmp_path)
    assert there is not None
    assert sorted(there.projects) == ["haliax", "levanter", "marin"]
    assert said(there) == []
