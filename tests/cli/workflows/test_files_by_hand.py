"""What people wrote themselves outlives `./tidepool workflows --write`."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.operations.errors import Failure, Refusal
from infra.operations.workflows.scene import put
from infra.operations.workflows.write import refuse_unsaved
from tests.cli.conftest import git

TESTS = ".github/workflows/levanter-tests.yaml"


def by_hand(folder: Path) -> Path:
    path = folder / TESTS
    path.parent.mkdir(parents=True)
    path.write_text("name: Mine\n")
    return path


@pytest.mark.parametrize("below", ["", "mono"])
def test_git_has_what_is_committed_and_not_edited_since(tmp_path: Path, below: str) -> None:
    git(tmp_path, "init")
    path = by_hand(tmp_path / below)
    with pytest.raises(Refusal, match="no copy of them"):
        refuse_unsaved(tmp_path / below, [TESTS])
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Add tests")
    refuse_unsaved(tmp_path / below, [TESTS])
    path.write_text("name: Edited\n")
    with pytest.raises(Refusal, match="no copy of them"):
        refuse_unsaved(tmp_path / below, [TESTS])


def test_a_folder_that_leads_out_of_the_checkout_is_not_written_to(tmp_path: Path) -> None:
    by_hand(tmp_path / "theirs")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout/.github").symlink_to(tmp_path / "theirs/.github")
    with pytest.raises(Failure, match="a link to"):
        put(tmp_path / "checkout", {TESTS: "name: New\n"})
    assert (tmp_path / "theirs" / TESTS).read_text() == "name: Mine\n"
