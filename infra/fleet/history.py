"""What was applied to a stack: one JSON object an operation, in the fleet bucket, readable by hand.

Owns what such an object says and its name. An object is written when the operation begins, where the bucket stands by
then, and written over when it ends: one that never ends is of a command that was killed, or that still runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import uuid4

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from infra.fleet.records import Records, UnreadableRecordError
from infra.model import bucket_names
from infra.model.plan import Op, Plan, Status

LARGEST: Final = 4 << 20
"""Bytes of an object that is read: a thousand changed resources take 200 kB, a stack file is at most 1 MB."""


class Verb(StrEnum):
    """The command that was run. ADOPT and FORGET write the state alone, whatever the stack file says."""

    UP = "up"
    DESTROY = "destroy"
    ADOPT = "adopt"
    FORGET = "forget"


STATE_ALONE: Final = frozenset((Verb.ADOPT, Verb.FORGET))
"""What changes nothing in the cloud, and applies no stack file."""


class Result(StrEnum):
    """How it ended. UNFINISHED: it was killed, or still runs. INTERRUPTED: by Ctrl-C, with what had begun recorded."""

    UNFINISHED = "unfinished"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Change(_Told):
    """One resource that was changed, or was to be. paths: its properties that differ, sorted."""

    op: Op
    type: str
    name: str
    paths: tuple[str, ...] = ()
    status: Status


class Applied(_Told):
    """One operation on a stack.

    id: sorts by time. by: who ran it, as they call themselves; it is no proof. commit: of the checkout, None outside
    git. edited: whether the checkout differed from it. stack_file: its text then, in which secrets are ciphertext; None
    where it did not exist, and of STATE_ALONE.
    """

    id: str
    stack: str
    verb: Verb
    by: str
    began: AwareDatetime
    ended: AwareDatetime | None = None
    commit: str | None = None
    edited: bool = False
    engine: str
    result: Result = Result.UNFINISHED
    summary: Mapping[str, int] = {}
    changes: tuple[Change, ...] = ()
    stack_file: str | None = None

    def to_json(self) -> dict[str, object]:
        return self.model_dump(mode="json")


class Past(NamedTuple):
    """The operations on a stack that could be read, newest first, and the names of objects that could not."""

    applied: tuple[Applied, ...]
    unreadable: tuple[str, ...]


def new_id(began: datetime) -> str:
    """Names of two operations that begin in one second differ, and sort by time."""
    return f"{began:%Y%m%dT%H%M%SZ}-{began.microsecond:05x}{uuid4().hex[:3]}"


def changes_of(run: Plan) -> tuple[Change, ...]:
    """What a run changed or failed to change."""
    return tuple(
        Change(op=step.op, type=step.type, name=step.name, paths=tuple(sorted(step.diff)), status=step.status)
        for step in run.steps
        if step.changes
    )


def write(records: Records, applied: Applied) -> None:
    """Write it, or over what was written when it began. Raises GoogleError."""
    records.update(bucket_names.applied_object(applied.stack, applied.id), lambda _: applied.to_json())


def past(records: Records, stack: str, most: int, *, edited_from: bool = False) -> Past:
    """The newest operations on a stack, `most` of them. Raises GoogleError where the bucket does not answer.

    edited_from: read on to the one before them that kept a stack file, from which the last of them was edited.
    """
    found: list[Applied] = []
    unreadable: list[str] = []
    for each in _newest(records, stack):
        if isinstance(each, str):
            unreadable.append(each)
        else:
            found.append(each)
        if len(found) >= most and not (edited_from and all(one.stack_file is None for one in found[most:])):
            break
    return Past(tuple(found), tuple(unreadable))


def left_undone(records: Records, stack: str) -> tuple[Applied, ...]:
    """The operations that changed the cloud since the last one that is done, newest first.

    An entry that cannot be read ends the list. Raises GoogleError where the bucket does not answer.
    """
    found: list[Applied] = []
    for each in _newest(records, stack):
        if isinstance(each, str) or (each.verb not in STATE_ALONE and each.result is Result.DONE):
            break
        if each.verb not in STATE_ALONE:
            found.append(each)
    return tuple(found)


def _newest(records: Records, stack: str) -> Iterator[Applied | str]:
    """Each operation, newest first, read as it is asked for; of an object that is none, its name."""
    for name in sorted(records.below(bucket_names.applied_prefix(stack)), reverse=True):
        try:
            if record := records.read(name, most=LARGEST):
                yield Applied.model_validate(record.body)
        except (UnreadableRecordError, ValidationError):
            yield name
