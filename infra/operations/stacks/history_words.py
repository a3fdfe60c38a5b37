"""What was applied to a stack, for people: a heading an operation, what it came to, and what was edited before it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from infra.fleet.history import Applied, Result, Verb
from infra.model.plan import Op
from infra.operations.stacks.history import Told
from infra.preview.sentences import plural
from infra.preview.toned import Shown, Tone, toned
from infra.preview.words import SIGNS, WORDS, ago, short_type

_TONES = {Result.DONE: Tone.GOOD, Result.FAILED: Tone.PROBLEM}


def told_lines(told: Told, now: datetime) -> Iterator[Shown]:
    """One operation, and a line a key of the stack file that was edited before it."""
    one = told.applied
    where = f"commit {one.commit[:12]}{' and edits' if one.edited else ''}" if one.commit else "no commit"
    yield toned((one.id, Tone.HEADING), f"  {ago(one.began, now)}, by {one.by}, {where}")
    took = f" in {(one.ended - one.began).seconds} s" if one.ended else ""
    yield toned("  ", (ended_as(one), _TONES.get(one.result, Tone.WARNING)), f": {came_to(one)}{took}")
    yield from (f"    {line}" for line in told.edit or ())


def ended_as(one: Applied) -> str:
    """`up`, `up failed`."""
    return one.verb.value if one.result is Result.DONE else f"{one.verb.value} {one.result.value}"


def came_to(one: Applied) -> str:
    """What it changed, in counts."""
    if one.verb is Verb.FORGET:
        return f"the state let go of {plural(one.summary.get(Op.RETAIN, 0), 'resource')}, which the cloud keeps"
    done = ", ".join(f"{count} {WORDS[Op(op)][1]}" for op, count in one.summary.items() if op != Op.SAME)
    return done or "nothing changed"


def change_lines(one: Applied) -> Iterator[Shown]:
    """A line a resource."""
    for each in one.changes:
        paths = f": {', '.join(each.paths)}" if each.paths and each.op is not Op.CREATE else ""
        yield f"    {SIGNS[each.op]} {each.name} ({short_type(each.type)}){paths}, {each.status.value}"
