"""What went wrong or may surprise: a preview that failed, a refusal, warnings, a plan that does more than the edit."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from infra.model import protected
from infra.model.plan import Diagnostic, Plan
from infra.preview.comment.resources import listed
from infra.preview.document import Alert, Box, Code, Fold, Items, Piece, Rank
from infra.preview.headline import meant_by, moved_by, refused
from infra.preview.markup import clipped, masked
from infra.preview.meaning import Meaning
from infra.preview.sentences import plural
from infra.preview.words import told, told_once
from infra.rules.finding import Finding

MAX_LINES: Final = 60
MAX_LINE: Final = 400
_RULES_NAMED: Final = 8
_OF_THE_MACHINE: Final = ("using pulumi-resource-", "A new version of Pulumi is available")
"""Remarks of the pulumi CLI about the machine it runs on."""


def failures(failure: str, plan: Plan | None) -> Iterator[Piece]:
    """A box that says no plan was made, with everything that was said about it."""
    if plan is not None and plan.failed:
        yield from _failed(plan)
    elif failure:
        yield _box("There is no plan, and nothing was changed.")
        yield _quoted(failure)


def held(findings: Collection[Finding]) -> Iterator[Piece]:
    """A box that counts the findings that hold an apply; nothing where none does."""
    stopping = [each for each in findings if each.stops]
    if stopping:
        rules = ", ".join(f"`{rule}`" for rule in sorted({each.rule for each in stopping})[:_RULES_NAMED])
        yield _box(f"Held: fix {plural(len(stopping), 'finding')} before anything is applied ({rules}).")


def _failed(plan: Plan) -> Iterator[Piece]:
    """Refusals by name, and what was said, each thing once."""
    lost = refused(plan)
    said = [told(each) for each in plan.diagnostics if each.severity == "error"]
    known = {each.message for each in plan.diagnostics if each.severity == "error"}
    said += [step.error for step in plan.steps if step.error and step.error not in {*known, protected.refused(step)}]
    yield _box("The plan is incomplete and is not shown; nothing was changed.")
    if lost:
        title = "Protected, so not deleted and not replaced"
        yield Items(rank=Rank.LOSSES, title=title, lines=list(listed(lost)), what="lines of protected resources")
    yield _quoted("\n".join(sorted(set(said))))


def unexpected(plan: Plan, meaning: Meaning | None) -> Iterator[Alert]:
    """Says where the plan moves other VMs than the edit does."""
    if meaning is None or (does := moved_by(plan)) == (means := meant_by(meaning)):
        return
    said = (
        f"The plan moves {str(does) or 'no VM'}; this edit alone moves {str(means) or 'no VM'}. "
        "An earlier edit is not applied yet, or VMs were changed by hand."
    )
    yield Alert(rank=Rank.SUMMARY, box=Box.WARNING, text=said, what="warnings")


def warnings(plan: Plan) -> Iterator[Fold]:
    """What the engine or the program warns of."""
    warned = (each for each in plan.diagnostics if each.severity == "warning" and not _machine(each))
    if said := sorted(text for _, text in told_once(warned)):
        lines = [clipped(message, MAX_LINE) for message in said]
        summary = f"{plural(len(said), 'warning')} of the program, not of this edit alone"
        yield Fold(rank=Rank.MEANING, summary=summary, parts=[Items(lines=lines)], what="warnings of the program")


def _machine(said: Diagnostic) -> bool:
    return said.message.startswith(_OF_THE_MACHINE)


def _box(text: str) -> Alert:
    return Alert(rank=Rank.SUMMARY, box=Box.CAUTION, text=text, what="failures")


def _quoted(text: str) -> Code:
    lines = [clipped(line, MAX_LINE) for line in masked(text).splitlines()]
    more = [f"… {len(lines) - MAX_LINES:,} more lines"] if len(lines) > MAX_LINES else []
    return Code(rank=Rank.LOSSES, lines=[*lines[:MAX_LINES], *more], what="lines of what was said")
