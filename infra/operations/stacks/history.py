"""Who applied what to a stack or wrote its state, when and from which commit, and what edits between applies meant.

Owns keeping each operation in the stack's fleet bucket: both engines are told there alike, and everybody who works on
the stack sees it. What an edit means is told anew from the stack files that were kept, never kept itself.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Final

from infra.fleet.google import GoogleError, clients
from infra.fleet.history import STATE_ALONE, Applied, Past, Result, Verb, changes_of, left_undone, new_id, past, write
from infra.fleet.records import Records
from infra.model.clock import Clock
from infra.model.errors import ConfigError, meant
from infra.model.json_shape import JsonShape
from infra.model.plan import Event, Op, Plan, Step, StepEnded
from infra.model.schema import StackConfig
from infra.operations.declared.versions import Version, version
from infra.operations.errors import Failure, Interruption, Refusal
from infra.operations.ports import HISTORY_SHOWN, Tone
from infra.operations.session import CloudSession, Session
from infra.operations.workspace import login
from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning

_LOOKED_THROUGH: Final = 200
"""Operations among which one is found by the start of its id, or the last that kept a stack file."""
_MISSING: Final = 404


@dataclass(slots=True)
class Keeping:
    """One operation while it runs. `ran` takes its result, `through` hears it until then.

    planned: the plan that is applied, whose steps the entry lists from its first moment; None where there is none.
    """

    applied: Applied
    clock: Clock
    planned: Plan | None = None
    run: Plan | None = field(default=None)
    _ended: dict[str, Step] = field(default_factory=dict)

    def ran(self, run: Plan) -> Plan:
        self.run = run
        return run

    def through(self, listener: Callable[[Event], None] | None) -> Callable[[Event], None]:
        """A listener that keeps how steps end and passes each event on."""

        def hear(event: Event) -> None:
            if isinstance(event, StepEnded):
                self._ended[event.step.urn] = event.step
            if listener:
                listener(event)

        return hear

    def now(self) -> Applied:
        """The entry with the steps as far as they have come."""
        run = self.run
        if run is None and self.planned is not None:
            steps = tuple(self._state_of(step) for step in self.planned.steps)
            run = replace(self.planned, steps=steps)
        if run is None:
            return self.applied
        summary = {op: count for op, count in run.summary.items() if count}
        return self.applied.model_copy(update={"summary": summary, "changes": changes_of(run)})

    def ended(self, result: Result) -> Applied:
        return self.now().model_copy(update={"ended": self.clock().replace(microsecond=0), "result": result})

    def _state_of(self, planned: Step) -> Step:
        """A planned step with its status. A delete is the first half of a planned replacement."""
        ended = self._ended.get(planned.urn)
        half = ended is not None and planned.op is Op.REPLACE and ended.op is Op.DELETE
        return planned if ended is None or half else replace(planned, status=ended.status)


@contextmanager
def kept(config: StackConfig, session: Session, verb: Verb, planned: Plan | None = None) -> Generator[Keeping]:
    """Keep an operation in the history of its stack; what cannot be kept there is told, and stops nothing.

    A first `up` makes the bucket, so that its entry is written at its end alone. So is that of an `adopt`, which leaves
    none where it finds nothing to take over.
    """
    entry = Keeping(_begun(config.stack, session, verb), session.clock, planned)
    if verb is not Verb.ADOPT:
        _write(config, session, entry.now(), may_lack=True)
    try:
        yield entry
    except (Interruption, KeyboardInterrupt):
        _write(config, session, entry.ended(Result.INTERRUPTED))
        raise
    except Exception:
        _write(config, session, entry.ended(Result.FAILED))
        raise
    ended = entry.ended(Result.FAILED if entry.run is None or entry.run.failed else Result.DONE)
    if verb is not Verb.ADOPT or ended.changes or ended.result is Result.FAILED:
        _write(config, session, ended, may_lack=verb is not Verb.UP)


def undone(config: StackConfig, session: Session) -> tuple[Applied, ...]:
    """The operations since the last one that is done, newest first; none where the history cannot be read."""
    try:
        with clients(config.project, session.endpoint) as google:
            return left_undone(Records(google=google, bucket=config.bucket.name), config.stack)
    except GoogleError:
        return ()


def history(config: StackConfig, session: CloudSession, most: int = HISTORY_SHOWN) -> tuple[Applied, ...]:
    """The newest operations on a stack, newest first.

    Raises Failure where the fleet bucket does not answer. A bucket that is not there has seen none.
    """
    return _past(config, session, most).applied


def recent(root: Path, config: StackConfig, session: CloudSession, most: int = HISTORY_SHOWN) -> tuple[Told, ...]:
    """The same, each with what was edited before it. Failure as there."""
    return told(root, _past(config, session, most, edited_from=True).applied)[:most]


def _past(config: StackConfig, session: CloudSession, most: int, *, edited_from: bool = False) -> Past:
    try:
        with clients(config.project, session.endpoint) as google:
            records = Records(google=google, bucket=config.bucket.name)
            found = past(records, config.stack, most, edited_from=edited_from)
    except GoogleError as error:
        if error.status == _MISSING:
            return Past((), ())
        raise Failure(f"the history of {config.stack} cannot be read: {error}") from None
    for name in found.unreadable:
        session.say(f"warning: gs://{config.bucket.name}/{name} is no entry of a history; it is left out", Tone.WARNING)
    return found


def entry_of(entries: Sequence[Applied], start: str) -> Applied:
    """The one whose id starts like that. Refusal where none does, or several do."""
    having = [each for each in entries if each.id.startswith(start)]
    if len(having) == 1:
        return having[0]
    if having:
        raise Refusal(f"{start!r} begins {len(having)} entries: {', '.join(each.id for each in having)}")
    near = meant(start, [each.id for each in entries])
    raise Refusal(f"no entry of the history begins with {start!r}{near}; `./tidepool history STACK` lists them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(JsonShape):
    """One operation, and what its stack file said otherwise than the one applied before.

    edit: a line a changed key; None where either file was not kept, or can no longer be read. Empty of an operation on
    the state alone, which applies none.
    """

    JSON = ("applied.*", "edit")

    applied: Applied
    edit: tuple[str, ...] | None


def told(root: Path, entries: Sequence[Applied]) -> tuple[Told, ...]:
    """Each operation with what was edited since the one before it in the list that applied a stack file."""
    files = [each for each in entries if each.verb not in STATE_ALONE]
    edits = {each.id: _edit(root, before, each) for each, before in zip_longest(files, files[1:])}
    return tuple(Told(applied=each, edit=edits.get(each.id, ())) for each in entries)


def between(root: Path, before: Applied, after: Applied | None, now: datetime) -> Meaning:
    """What the edit between two applies means; of the later one to the working tree, where `after` is None.

    Raises Refusal where one applied no stack file, ConfigError for one that cannot be read.
    """
    stack = before.stack
    old = _version(root, before)
    new = _version(root, after) if after else version(root, stack, None)
    return explain(old.reading(stack), new.reading(stack), Facts(today=now))


def pair(entries: Sequence[Applied], before: str | None, after: str | None) -> tuple[Applied, Applied | None]:
    """Which two to compare. Neither given: the last complete apply with the working tree; one: that with the tree.

    Raises Refusal where the history has none of them.
    """
    ups = [each for each in entries if each.stack_file is not None and each.verb is Verb.UP]
    if before is None and not ups:
        raise Refusal("nothing was applied yet, so there is nothing to compare; `./tidepool up STACK` applies")
    complete = (each for each in ups if each.result is Result.DONE)
    older = next(complete, ups[-1]) if before is None else entry_of(entries, before)
    return older, entry_of(entries, after) if after else None


def unsettled_since(entries: Sequence[Applied], base: Applied) -> tuple[Applied, ...]:
    """The operations since `base`, itself included, that left the cloud unlike a stack file, newest first.

    They are applies that did not end well, and destroys.
    """
    later = (each for each in entries if each.id >= base.id and each.verb not in STATE_ALONE)
    return tuple(each for each in later if each.result is not Result.DONE or each.verb is Verb.DESTROY)


def every_entry(config: StackConfig, session: CloudSession) -> tuple[Applied, ...]:
    """Those among which a command finds one by its id."""
    return history(config, session, _LOOKED_THROUGH)


def _edit(root: Path, before: Applied | None, after: Applied) -> tuple[str, ...] | None:
    if before is None or before.stack_file is None or after.stack_file is None:
        return None
    if before.stack_file == after.stack_file:
        return ()
    try:
        return tuple(map(str, between(root, before, after, after.began).keys))
    except ConfigError:
        return None


def _version(root: Path, applied: Applied) -> Version:
    if applied.verb in STATE_ALONE:
        raise Refusal(f"{applied.id} changed the state alone and applied no stack file; compare an up or a destroy")
    if applied.stack_file is None:
        raise Refusal(f"{applied.id} kept no stack file")
    here = version(root, applied.stack, None)
    files = {**here.files, applied.stack: applied.stack_file.encode()}
    return replace(here, source=f"{applied.id}:stacks/Pulumi.{applied.stack}.yaml", files=files)


def _begun(stack: str, session: Session, verb: Verb) -> Applied:
    moment, root = session.clock(), session.place.root
    commit, edited = _commit(root)
    path = root / "stacks" / f"Pulumi.{stack}.yaml"
    applies = verb not in STATE_ALONE and path.is_file()
    return Applied(
        id=new_id(moment),
        stack=stack,
        verb=verb,
        by=_who(os.environ),
        began=moment.replace(microsecond=0),
        commit=commit,
        edited=edited,
        engine=session.choice.engine.value,
        stack_file=path.read_text(encoding="utf-8") if applies else None,
    )


def _who(environ: Mapping[str, str]) -> str:
    """Who runs it: in a workflow of GitHub's whoever started that, with the number of the run."""
    actor, run = environ.get("GITHUB_ACTOR"), environ.get("GITHUB_RUN_ID")
    return f"{actor} in run {run}" if actor and run else login()


def _commit(root: Path) -> tuple[str | None, bool]:
    """The commit of a checkout, and whether its files differ from it; None outside git."""
    head = _git(root, "rev-parse", "HEAD")
    return head, head is not None and _git(root, "status", "--porcelain", "--", ".") != ""


def _git(root: Path, *arguments: str) -> str | None:
    try:
        asked = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return asked.stdout.strip()


def _write(config: StackConfig, session: Session, applied: Applied, *, may_lack: bool = False) -> None:
    """may_lack: whether the bucket may not be there."""
    try:
        with clients(config.project, session.endpoint) as google:
            write(Records(google=google, bucket=config.bucket.name), applied)
    except GoogleError as error:
        if not (may_lack and error.status == _MISSING):
            session.say(f"warning: this {applied.verb} is not in the history: {error}", Tone.WARNING)
