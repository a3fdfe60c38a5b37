"""What was applied to a stack, for people: a heading an operation, what it came to, and what was edited before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from infra.fleet.history import Applied, Result, Verb
from infra.model.plan import Op, Status
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
    by_op = Counter(each.op for each in one.changes if each.status is Status.DONE)
    done = [f"{by_op[op]} {WORDS[op][1]}" for op in Op if by_op[op]]
    undone = sum(each.status is not Status.DONE for each in one.changes)
    return ", ".join([*done, *([f"{undone} not done"] if undone else [])]) or _NOTHING[one.result is Result.UNFINISHED]


_NOTHING: Final = {False: "nothing changed", True: "no result recorded"}


def unsettled_lines(unsettled: Sequence[Applied], stack: str) -> Iterator[Shown]:
    """Each operation after which the cloud is unlike the stack file that it applied, with what it left to do."""
    for one in unsettled:
        yield toned((f"{one.id}  {ended_as(one)}", Tone.WARNING), f": {came_to(one)}")
        yield from change_lines(without_done(one))
    if unsettled:
        yield f"next: ./tidepool preview {stack} shows what up does to the cloud as it is"


def without_done(one: Applied) -> Applied:
    """The entry with the changes alone that were not done."""
    return one.model_copy(update={"changes": tuple(each for each in one.changes if each.status is not Status.DONE)})


def change_lines(one: Applied) -> Iterator[Shown]:
    """A line a resource."""
    for each in one.changes:
        paths = f": {', '.join(each.paths)}" if each.paths and each.op is not Op.CREATE else ""
        yield f"    {SIGNS[each.op]} {each.name} ({short_type(each.type)}){paths}, {each.status.value}"
