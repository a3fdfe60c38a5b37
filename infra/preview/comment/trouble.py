"""What went wrong or may surprise: a preview that failed, a refusal, warnings, a plan that does more than the edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model.plan import Diagnostic, Op, Plan, Status
from infra.preview.blocks import Block, Rank
from infra.preview.comment.headline import meant_by, moved_by
from infra.preview.markup import clipped, fenced, name, prose
from infra.preview.masking import masked
from infra.preview.meaning import Meaning
from infra.preview.words import short_type

MAX_LINES: Final = 60
MAX_LINE: Final = 400
_OF_THE_MACHINE: Final = ("using pulumi-resource-", "A new version of Pulumi is available")
"""Remarks of the pulumi CLI about the machine it runs on."""


def blocks(failure: str, plan: Plan | None) -> Iterator[Block]:
    """A box that says no plan was made, with everything that was said about it."""
    if plan is not None and plan.failed:
        refused = [step for step in plan.steps if step.status is Status.FAILED]
        said = [each.message for each in _errors(plan)] + [step.error or "" for step in refused]
        yield _box("Nothing was changed, and nothing will be until this is mended.")
        if refused:
            yield Block(
                rank=Rank.LOSSES,
                opening="**Refused**\n",
                lines=[f"- {_WORDS[step.op]} {name(short_type(step.type))} {name(step.name)}" for step in refused],
                what="refused resources",
            )
        yield _quoted("\n".join(dict.fromkeys(filter(None, said))))
    if failure:
        yield _box("Nothing was changed, and nothing will be until this is mended.")
        yield _quoted(failure)


def unexpected(plan: Plan, meaning: Meaning | None) -> Iterator[Block]:
    """Says where the plan moves other VMs than the edit does."""
    if meaning is None or (does := moved_by(plan)) == (means := meant_by(meaning)):
        return
    said = (
        f"> [!WARNING]\n> The plan moves {does or 'no VM'}, this edit alone {means or 'none'}: "
        "an earlier edit is not applied yet, or VMs were changed by hand."
    )
    yield Block(rank=Rank.SUMMARY, lines=[said], what="warnings")


def warnings(plan: Plan) -> Iterator[Block]:
    """What the engine or the program warns of."""
    said = sorted({each.message for each in plan.diagnostics if each.severity == "warning" and not _machine(each)})
    if said:
        lines = [f"- {prose(clipped(message, MAX_LINE))}" for message in said]
        yield Block(
            rank=Rank.MEANING, opening="**Warnings of the engine**\n", lines=lines, what="warnings of the engine"
        )


_WORDS: Final = {op: f"{op.value} of" for op in Op}


def _errors(plan: Plan) -> Iterator[Diagnostic]:
    return (each for each in plan.diagnostics if each.severity == "error")


def _machine(said: Diagnostic) -> bool:
    return said.message.startswith(_OF_THE_MACHINE)


def _box(text: str) -> Block:
    return Block(rank=Rank.SUMMARY, lines=[f"> [!CAUTION]\n> {text}"], what="failures")


def _quoted(text: str) -> Block:
    lines = [clipped(line, MAX_LINE) for line in masked(text).splitlines()]
    more = [f"… {len(lines) - MAX_LINES:,} more lines"] if len(lines) > MAX_LINES else []
    return Block(rank=Rank.MEANING, lines=[fenced("\n".join([*lines[:MAX_LINES], *more]))], what="messages")
