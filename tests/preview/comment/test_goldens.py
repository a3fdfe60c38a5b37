"""Comments as people read them: golden files, made from real edits by the real engine. docs/preview.md shows some.

`./tidepool test --fast -- tests/preview/comment --update-goldens` writes the files and the page anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.model.errors import EngineError
from infra.preview.comment import Preview, comment
from tests.preview import two_versions
from tests.preview.comment import edits
from tests.preview.comment.edits import Edit
from tests.preview.comment.fleets import Fleets
from tests.prose import laid_out

pytestmark = pytest.mark.usefixtures("cheap_keys")

GOLDEN = Path(__file__).parent / "golden"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "preview.md"
MARK = "<!-- What follows is written by tests/preview/comment/test_goldens.py. -->\n"


def _planned(edit: Edit, fleets: Fleets) -> str:
    plan = fleets.preview(edit.before, edit.after)
    return comment(Preview(stack="ci", plan=plan, meaning=two_versions.meaning(edit.before, edit.after)))


def _first(edit: Edit, fleets: Fleets) -> str:
    """Without the digest of the start-up bundle, which is another with each change of it."""
    plan = fleets.preview(edit.before, edit.after)
    said = comment(Preview(stack="ci", plan=plan, meaning=two_versions.meaning(None, edit.after)))
    return re.sub("[0-9a-f]{64}", "DIGEST", said)


def _only_meant(edit: Edit, _: Fleets) -> str:
    return comment(Preview(stack="ci", meaning=two_versions.meaning(edit.before, edit.after)))


def _failed(edit: Edit, fleets: Fleets) -> str:
    fleets.preview(edit.before, edit.before)
    with pytest.raises(EngineError) as failure:
        fleets.preview(edit.before, edit.after, {"PULUMI_CONFIG_PASSPHRASE": "another horse"})
    meaning = two_versions.meaning(edit.before, edit.after)
    return comment(Preview(stack="ci", meaning=meaning, failure=str(failure.value)))


def _behind(edit: Edit, fleets: Fleets) -> str:
    """What stands is older than the version that the edit is compared with."""
    plan = fleets.preview(edits.FLEET, edit.after)
    return comment(Preview(stack="ci", plan=plan, meaning=two_versions.meaning(edit.before, edit.after)))


def _two(edit: Edit, fleets: Fleets) -> str:
    small, swapped = edit, edits.SWAP
    return comment(
        Preview(
            stack="ci",
            plan=fleets.preview(small.before, small.after),
            meaning=two_versions.meaning(small.before, small.after),
        ),
        Preview(stack="nightly", meaning=two_versions.meaning(swapped.before, swapped.before)),
    )


CASES: tuple[tuple[Edit, Callable[[Edit, Fleets], str]], ...] = (
    (edits.FIRST, _first),
    (edits.NO_CHANGE, _planned),
    (edits.ONE_VM, _planned),
    (edits.TO_ZERO, _planned),
    (edits.SWAP, _planned),
    (edits.TOO_MANY, _only_meant),
    (edits.REPLACE, _planned),
    (edits.REGISTRY_GONE, _planned),
    (edits.HUNDRED, _planned),
    (edits.FAILED, _failed),
    (edits.BEHIND, _behind),
    (edits.TWO_STACKS, _two),
)
SHOWN = (edits.ONE_VM, edits.SWAP, edits.TOO_MANY, edits.REPLACE, edits.FAILED)
"""On the page; it leads to the files of the others."""


@pytest.mark.parametrize(("edit", "made"), CASES, ids=[edit.name for edit, _ in CASES])
def test_a_comment_is_its_golden_file(
    edit: Edit, made: Callable[[Edit, Fleets], str], fleets: Fleets, update_goldens: bool
) -> None:
    text = made(edit, fleets) + "\n"
    file = GOLDEN / f"{edit.name}.md"
    if update_goldens:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_the_page_on_previews_shows_goldens_and_leads_to_the_others(update_goldens: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    written, mark, _ = page.partition(MARK)
    assert mark, "docs/preview.md has lost the line below which goldens are shown"
    others = "".join(_named(edit) for edit, _ in CASES if edit not in SHOWN)
    shown = "".join(_shown(edit) for edit in SHOWN)
    wanted = laid_out(f"{written}{MARK}\n| Further examples | |\n|---|---|\n{others}{shown}")
    if update_goldens:
        PAGE.write_text(wanted, encoding="utf-8")
        page = wanted
    assert page == wanted, "renew with --update-goldens"


def test_no_golden_is_left_over() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == {edit.name for edit, _ in CASES}


def _named(edit: Edit) -> str:
    return f"| [{edit.title}](../tests/preview/comment/golden/{edit.name}.md) | {edit.when} |\n"


def _shown(edit: Edit) -> str:
    """A golden between two lines. Within a quotation GitHub would not show its boxes."""
    text = (GOLDEN / f"{edit.name}.md").read_text(encoding="utf-8")
    return f"\n# {edit.title}\n\n{edit.when}\n\n---\n\n{text}\n---\n"
