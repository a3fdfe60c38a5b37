"""The comment of a pull request: an engine's plan with the meaning of the edit on top, as GitHub's markdown.

Owns which pieces it has, in which order, and which of them are the first to go when it grows too long. Does not own the
words of a piece (headline, resources, trouble) nor the markdown of a meaning (`infra.preview.markdown`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from infra.model.plan import Plan
from infra.model.planned_capacity import capacity
from infra.preview import edit_document, markdown
from infra.preview.blocks import LIMIT
from infra.preview.comment import resources, trouble
from infra.preview.document import Grid, Heading, Piece
from infra.preview.headline import headline
from infra.preview.markup import clipped
from infra.preview.meaning import Meaning
from infra.preview.toned import Tone, toned
from infra.rules.finding import Finding

ROOM: Final = LIMIT - 1_024
"""What a comment may take; the rest is for the mark by which its poster finds it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What is known of one stack.

    plan: None where no engine was asked, as for a stranger's pull request, or none could answer.
    meaning: None where there is no earlier version to compare with.
    findings: what the rules say of the plan, beside the findings of the meaning.
    failure: why there is no plan, in the words of the engine or the stack file's reader.
    """

    stack: str
    plan: Plan | None = None
    meaning: Meaning | None = None
    findings: tuple[Finding, ...] = ()
    failure: str = ""


def comment(*previews: Preview, limit: int = ROOM) -> str:
    """The markdown of one comment for all these stacks, never longer than `limit`, without a final line break.

    The same for equal plans, whichever engine made them. What does not fit is cut by importance and named.
    """
    pieces = list(chain.from_iterable(map(_pieces, previews)))
    return markdown.render(pieces, limit=limit, advice="`./tidepool preview STACK` shows everything.")


def _pieces(preview: Preview) -> Iterator[Piece]:
    plan, meaning = preview.plan, preview.meaning
    findings = sorted({*preview.findings, *(meaning.findings if meaning else ())})
    made = plan if plan is not None and not plan.failed else None
    said = headline(plan, meaning, planless=bool(preview.failure))
    yield Heading(text=f"{clipped(preview.stack, 80)}: {said}", what="stacks")
    yield from trouble.failures(preview.failure, plan)
    yield from trouble.held(findings)
    yield from edit_document.losses(meaning, made, preview.stack)
    if made:
        yield from trouble.unexpected(made, meaning)
    yield from edit_document.findings(findings)
    if meaning:
        yield from edit_document.parts(meaning)
    elif made:
        yield from _capacity(made)
    if made:
        yield from resources.resources(made)
        yield from trouble.warnings(made)


def _capacity(plan: Plan) -> Iterator[Grid]:
    """A row for each pool and zone that changes; nothing where none does."""
    rows = [
        (
            toned((change.place.pool, Tone.NAME)),
            *(change.place.zone, change.place.accelerator, change.place.capacity),
            *(f"{before:,} → {after:,}" for before, after in ((change.before, change.after), change.chips)),
        )
        for change in capacity(plan)
        if change.before != change.after
    ]
    if rows:
        yield Grid(titles=("Pool", "Zone", "Slice", "Capacity", "VMs", "Chips"), rows=rows, what="rows of capacity")
