"""`./tidepool images bases` and `images listing`: exit codes, what is written, and what is said."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from infra.cli.app import cli
from infra.fleet.images.oci import RegistryError
from infra.model.images.answers import PinAnswer
from infra.model.images.pins import Pins, parse_pins
from infra.operations.images import pins
from tests.cli.conftest import git
from tests.model.images.declared import PINS
from tests.synthetic_lab import lend

DEBIAN, PYTHON = f"sha256:{'a' * 64}", f"sha256:{'1' * 64}"
ANSWERS = {"debian": DEBIAN, "python": PYTHON, "uv": "b" * 64}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a pin table, in which `python` is unresolved."""
    root = tmp_path / "checkout"
    monkeypatch.setenv("TIDEPOOL_ROOT", str(root))
    monkeypatch.setenv("TIDEPOOL_HOME", str(tmp_path / "home"))
    (root / "images").mkdir(parents=True)
    (root / "images/bases.yaml").write_text(PINS)
    return root


def world_says(monkeypatch: pytest.MonkeyPatch, **answers: str | None) -> None:
    """Let registries answer so; None for one that does not."""

    class Registries:
        def answer(self, _: Pins, name: str) -> PinAnswer:
            if (value := (ANSWERS | answers)[name]) is None:
                raise RegistryError(f"{name}: no answer")
            return PinAnswer(name, value, f"https://registry.example.org/{name}", date(2026, 12, 1))

    monkeypatch.setattr(pins, "resolver", Registries)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["images", *arguments], prog_name="tidepool", env={"COLUMNS": "200"})


def test_the_table_is_listed_and_what_is_unresolved_is_told(root: Path) -> None:
    result = run("bases", "--json")
    said = json.loads(result.stdout)
    assert result.exit_code == said["exit"] == 1
    assert said["unresolved"] == ["python"]
    assert said["bases"]["debian"]["digest"] == DEBIAN
    assert "./tidepool images bases --resolve" in result.stderr


def test_resolve_writes_the_entries_that_are_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world_says(monkeypatch, debian=f"sha256:{'9' * 64}")
    assert run("bases", "--resolve", "debian").exit_code == 0
    table = parse_pins((root / "images/bases.yaml").read_text())
    assert (table.base("debian").digest, table.unresolved()) == (f"sha256:{'9' * 64}", ("python",))


def test_what_gets_no_answer_fails_and_the_rest_is_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world_says(monkeypatch, uv=None)
    result = run("bases", "--resolve", "python", "uv", "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["failures"]) == (1, ["uv: no answer"])
    assert not parse_pins((root / "images/bases.yaml").read_text()).unresolved()


def test_other_bytes_of_a_download_are_told_and_never_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world_says(monkeypatch, uv="9" * 64)
    result = run("bases", "--resolve", "uv")
    assert result.exit_code == 1
    assert "OTHER BYTES" in result.output
    assert (root / "images/bases.yaml").read_text() == PINS


def test_a_file_of_answers_from_elsewhere_is_compared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world_says(monkeypatch)
    file = root / "answers.json"
    file.write_text(run("bases", "--ask", "--json").stdout)
    world_says(monkeypatch, debian=None, python=None, uv=None)
    result = run("bases", "--check", str(file), "--json")
    outcomes = {each["name"]: each["outcome"] for each in json.loads(result.stdout)["findings"]}
    assert outcomes == {"debian": "same", "python": "resolved", "uv": "same"}
    assert result.exit_code == 1


@pytest.mark.parametrize("arguments", [("--ask", "--resolve"), ("nobody",), ("--resolve", "nobody")])
def test_what_cannot_be_asked_is_refused(root: Path, arguments: tuple[str, ...]) -> None:
    assert run("bases", *arguments).exit_code == 2


# Listings


@pytest.fixture
def copy(root: Path) -> Path:
    """A working copy of the monorepo with a commit, beside a checkout with the declaration of the synthetic lab."""
    lend(root)
    copy = root.parent / "monorepo"
    for path in ("uv.lock", "pyproject.toml", "lib/a/pyproject.toml", "lib/a/src/a.py", "docs/x.md"):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text("")
    git(copy, "init", "--quiet")
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message", "x")
    return copy


def test_a_listing_is_made_of_the_commit_that_is_checked_out(root: Path, copy: Path) -> None:
    file = root / "images/listings/marin-community.marin.txt"
    assert run("listing", "marin-community/marin", "--checkout", str(copy), "--check").exit_code == 1
    assert run("listing", "marin-community/marin", "--checkout", str(copy)).exit_code == 0
    head = git(copy, "rev-parse", "HEAD")
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    paths = ("lib/a/pyproject.toml", "lib/a/src/a.py", "pyproject.toml", "uv.lock")
    assert lines == [f"{path} {head}" for path in paths]
    assert run("listing", "marin-community/marin", "--checkout", str(copy), "--check").exit_code == 0
