"""What a specification names and its repository has not is told with the line that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.model.errors import ConfigError
from infra.operations.workflows.scene import read_files
from tests.workflows import monorepo
from workflows.coverage import Checkout, missing, project

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
    return [(each.value, each.rule) for each in missing(monorepo.spec(*edits), there)]


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
    made = monorepo.spec(("lib/haliax/**", "lib/halyax/**"))
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
