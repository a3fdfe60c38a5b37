"""The comment of a pull request: an engine's plan with the meaning of the edit on top, as GitHub's markdown.

Owns which pieces it has, in which order, and which of them are the first to go when it grows too long. Does not own the
words of a piece (headline, resources, trouble) nor the markdown of a meaning (`infra.preview.markdown`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from infra.model.plan import Plan
from infra.model.planned_capacity import capacity
from infra.preview import markdown
from infra.preview.blocks import LIMIT, Block, Rank, fit
from infra.preview.comment import headline, resources, trouble
from infra.preview.markup import name, table
from infra.preview.meaning import Meaning
from infra.rules.finding import Finding

ROOM: Final = LIMIT - 1_024
"""What a comment may take; the rest is for the mark by which its poster finds it again."""
_HEAD = ("Pool", "Zone", "Slice", "Capacity", "VMs", "Chips")


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
    blocks = list(chain.from_iterable(_blocks(each) for each in previews))
    return fit(blocks, limit=limit, advice="`./tidepool preview STACK` shows everything.")


def _blocks(preview: Preview) -> Iterator[Block]:
    plan, meaning = preview.plan, preview.meaning
    findings = sorted({*preview.findings, *(meaning.findings if meaning else ())})
    made = plan if plan is not None and not plan.failed else None
    yield headline.block(preview.stack, plan, meaning, planless=bool(preview.failure))
    yield from trouble.blocks(preview.failure, plan)
    yield from trouble.held(findings)
    if made:
        yield from resources.losses(made)
        yield from trouble.unexpected(made, meaning)
    if meaning:
        yield from markdown.blocks(replace(meaning, findings=tuple(findings)))
    else:
        yield from markdown.findings_blocks(findings)
        yield from _capacity(made) if made else ()
    if made:
        yield from resources.blocks(made)
        yield from trouble.warnings(made)


def _capacity(plan: Plan) -> Iterator[Block]:
    """A row for each pool and zone that changes; nothing where none does."""
    rows = []
    for change in capacity(plan):
        if change.before != change.after:
            where = change.place
            numbers = ((change.before, change.after), change.chips)
            rows.append(
                [name(each) for each in (where.pool, where.zone, where.accelerator, where.capacity)]
                + [f"{before:,} → {after:,}" for before, after in numbers]
            )
    if rows:
        head, rule, *lines = table(_HEAD, rows, numbers=frozenset({4, 5}))
        yield Block(rank=Rank.MEANING, opening=f"{head}\n{rule}", lines=lines, what="rows of capacity")
