"""`preview --format markdown` and `preview --from FILE`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Checkout
from tests.engines.official.replay import RECORDINGS
from tests.synthetic_lab import lend, steady


@pytest.fixture
def base(tmp_path: Path) -> tuple[str, str]:
    """The stack before its edit, as arguments."""
    (tmp_path / "base.yaml").write_text(steady("ci"))
    return ("--base", str(tmp_path / "base.yaml"))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(lend(tmp_path))


@pytest.fixture
def recorded(checkout: Checkout) -> tuple[str, ...]:
    return ("preview", "ci", "--from", str(RECORDINGS / "preview-change.json"))


def test_a_recorded_preview_is_told_without_any_engine(checkout: Checkout, recorded: tuple[str, ...]) -> None:
    result = checkout.run(*recorded)
    assert "ci: 1 to create, 2 to update" in result.stdout
    assert result.exit_code == 1, "its metadata holds a secret, which a rule stops"
    assert not checkout.home.exists(), "nothing is started and nothing is made"


def test_the_edit_against_a_base_stands_on_top(
    checkout: Checkout, recorded: tuple[str, ...], base: tuple[str, str]
) -> None:
    checkout.edit("ci", "        us-west4-a: 2\n", "        us-west4-a: 3\n")
    result = checkout.run(*recorded, "--format", "markdown", *base)
    assert result.stdout.startswith("## ci: +1 VM, +4 chips, +$1,402 a month\n")
    assert "| VMs | 9 | 10 | +1 |" in result.stdout
    assert "> Held: " in result.stdout, "what rules say of the plan is told too"


def test_a_stack_file_at_fault_is_a_comment_too(checkout: Checkout, base: tuple[str, str]) -> None:
    checkout.edit("ci", "        us-west4-a: 2\n", "        us-west4-a: two\n")
    result = checkout.run("preview", "ci", "--format", "markdown", *base)
    assert result.exit_code == 2
    assert "> Held: fix 1 finding before" in result.stdout
    assert "us-west4-a" in result.stdout


def test_a_file_that_is_no_preview_is_refused_by_name(checkout: Checkout, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    result = checkout.run("preview", "ci", "--from", str(file))
    assert result.exit_code == 1
    assert f"error: {file}: not the output of `pulumi preview --json`" in result.stderr
