"""One run of the CLI, told event by event.

Owns how far each step came, which error is whose, and what the listener hears. Leaves what a single event says of a
resource to `steps`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pulumi import automation
from pulumi.automation import events

from infra.engines.official.steps import (
    NOISE,
    SEVERITIES,
    step_of_event,
    without_traceback,
    without_unprotecting,
    without_wrapping,
)
from infra.engines.protocol import Listener
from infra.model import urns
from infra.model.plan import Diagnostic, Op, Status, Step, StepEnded, StepStarted

_HALVES: Final = frozenset({"create-replacement", "delete-replaced"})


@dataclass(slots=True)
class _Open:
    """A step that has begun."""

    step: Step
    since: float
    halves: set[str]


class Recorder:
    """Takes the events of one run in order, tells the listener, and has the steps at the end.

    planning: a preview: steps end at once and stay PLANNED.
    clock: seconds; the CLI's own time stamps are whole seconds, too coarse for a step.
    """

    def __init__(
        self, listener: Listener | None, *, planning: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.listener = listener or (lambda _: None)
        self._planning = planning
        self._clock = clock
        self._open: dict[str, _Open] = {}
        self._ended: dict[str, Step] = {}
        self._errors: dict[str, str] = {}
        self._adopted: set[str] = set()
        self._said: dict[Diagnostic, None] = {}
        self._deleted: set[str] = set()
        self._program_output: list[str] = []
        self._succeeded = False

    def take(self, event: events.EngineEvent) -> None:
        """One event of the CLI, in the order of their sequence numbers."""
        if event.resource_pre_event is not None:
            self._begin(event.resource_pre_event.metadata)
        elif event.res_outputs_event is not None:
            self._end(event.res_outputs_event.metadata)
        elif event.res_op_failed_event is not None:
            self._fail(event.res_op_failed_event.metadata)
        elif event.diagnostic_event is not None:
            self._say(event.diagnostic_event)
        elif event.cancel_event is not None:
            self._succeeded = not self._errors and not self._told_of_error

    def say(self, said: Diagnostic) -> None:
        """Add a diagnostic of this project's own, or the CLI's; each is told and kept once."""
        if said not in self._said:
            self._said[said] = None
            self.listener(said)

    def refuse(self, steps: Sequence[Step], message: str) -> None:
        """Record steps that were not even tried; one message tells of all of them."""
        self.done(steps)
        self.say(Diagnostic(severity="error", message=message))

    def adopt(self, urns: Collection[str]) -> None:
        """Tell of these resources, which were taken into the state just before, as adopted where nothing differs."""
        self._adopted |= set(urns)

    def create_again(self, urns: Collection[str]) -> None:
        """Tell of these, whose old resource an earlier run deleted already, as created: nothing is lost any more."""
        self._deleted |= set(urns)

    def done(self, steps: Iterable[Step]) -> None:
        """Record steps that were done without the CLI, and told already."""
        for step in steps:
            if step.error is not None:
                self._errors[step.urn] = step.error
            self._ended[step.urn] = step

    def took_over(self, urn: str) -> None:
        """Record a resource that was taken into the state and that nothing else was done to."""
        self.close(_bare(Op.ADOPT, urn, status=Status.DONE))

    @property
    def makes_anything(self) -> bool:
        """Whether any step makes or changes a resource."""
        return any(step.op is not Op.SAME for step in self.steps())

    @property
    def began(self) -> bool:
        """Whether any resource was worked on or looked at."""
        return bool(self._open or self._ended)

    @property
    def failed(self) -> bool:
        """Whether the run began and something in it went wrong."""
        return bool(self._errors) or any(said.severity == "error" for said in self.diagnostics())

    def steps(self) -> tuple[Step, ...]:
        """Every step seen, in order of their ends. One that never ended is SKIPPED; half a replacement is FAILED."""
        begun = self._open.values()
        if self._planning:
            found = (*self._ended.values(), *(step.step for step in begun))
        else:
            found = (*self._ended.values(), *(_cut_short(step, succeeded=self._succeeded) for step in begun))
        return (*(self._as_left(self._blamed(step)) for step in found), *self._never_begun(found))

    def _blamed(self, step: Step) -> Step:
        """A step of which an error was told has failed, however the CLI counts it."""
        why = self._errors.get(step.urn)
        return step if why is None or step.status is Status.FAILED else replace(step, status=Status.FAILED, error=why)

    def _never_begun(self, found: Sequence[Step]) -> Iterator[Step]:
        """What a provider refused before it could be planned; the CLI has no step of it."""
        for urn in sorted(self._errors.keys() - {step.urn for step in found}):
            yield _bare(Op.CREATE, urn, status=Status.FAILED, error=self._errors[urn])

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was said, once each. The program's own output is added where a run failed and nothing else says why."""
        if self._succeeded or self._errors or self._told_of_error:
            return tuple(self._said)
        output = "".join(self._program_output).strip()
        return (*self._said, Diagnostic(severity="error", message=output)) if output else tuple(self._said)

    def _step(self, metadata: events.StepEventMetadata) -> Step | None:
        step = step_of_event(metadata)
        if step is not None and step.op is Op.SAME and step.urn in self._adopted:
            return replace(step, op=Op.ADOPT)
        return step if step is None else self._as_left(step)

    def _as_left(self, step: Step) -> Step:
        """A replacement whose old resource is deleted already is a creation."""
        if step.op is Op.REPLACE and step.urn in self._deleted:
            return replace(step, op=Op.CREATE, old_inputs=None, diff={}, replace_reasons=())
        return step

    def _begin(self, metadata: events.StepEventMetadata) -> None:
        step = self._step(metadata)
        if step is None or metadata.urn in self._open:
            return
        self._ended.pop(metadata.urn, None)
        self._open[metadata.urn] = _Open(step=step, since=self._clock(), halves=set())
        if step.op is not Op.SAME and not self._planning:
            self.listener(StepStarted(step=step))

    def _end(self, metadata: events.StepEventMetadata) -> None:
        step = self._step(metadata)
        if step is None:
            return
        begun = self._open.get(metadata.urn)
        if begun is None:
            # What ends without having begun is what a refresh found: gone is gone, whatever the program asked for.
            found = replace(step, op=Op.DELETE) if step.op is Op.RETAIN else step
            if metadata.urn not in self._ended:
                self.close(replace(found, status=self._success))
            return
        if metadata.op.value in _HALVES or metadata.op.value == "replace":
            begun.step = _richer(begun.step, step)
            begun.halves.add(metadata.op.value)
            if not begun.halves >= (_HALVES if begun.step.op is Op.REPLACE else {"create-replacement"}):
                return
            step = begun.step
        del self._open[metadata.urn]
        self.close(replace(step, status=self._success), since=begun.since)

    def _fail(self, metadata: events.StepEventMetadata) -> None:
        step = self._step(metadata)
        if step is None:
            return
        begun = self._open.pop(metadata.urn, None)
        failed = _richer(begun.step, step) if begun else step
        why = self._errors.get(metadata.urn, "the provider gives no reason")
        self.close(replace(failed, status=Status.FAILED, error=why), since=begun.since if begun else None)

    @property
    def _told_of_error(self) -> bool:
        return any(said.severity == "error" for said in self._said)

    @property
    def _success(self) -> Status:
        return Status.PLANNED if self._planning else Status.DONE

    def close(self, step: Step, *, since: float | None = None) -> None:
        """Record the end of a step, and tell of it."""
        if not self._planning:
            step = replace(step, seconds=round(self._clock() - since, 3) if since is not None else 0.0)
        self._ended[step.urn] = step
        if not self._planning:
            self.listener(StepEnded(step=step))

    def _say(self, event: events.DiagnosticEvent) -> None:
        message = without_wrapping(without_unprotecting(without_traceback(event.message))).strip()
        if event.severity == "info#err":
            self._program_output.append(event.message)
            return
        if event.severity not in SEVERITIES or not message or message in NOISE:
            return
        if event.severity == "error" and event.urn and not event.urn.split("::")[2].endswith("pulumi:pulumi:Stack"):
            known = self._errors.get(event.urn)
            self._errors[event.urn] = f"{known}; {message}" if known and message not in known else message
        self.say(Diagnostic(severity=SEVERITIES[event.severity], message=message, urn=event.urn or "", repeats=True))


def _bare(op: Op, urn: str, *, status: Status, error: str | None = None) -> Step:
    """A step of which the CLI told nothing but whose it is."""
    return Step(op=op, urn=urn, type=urns.type_of(urn), name=urns.name_of(urn), status=status, error=error)


def _richer(first: Step, second: Step) -> Step:
    """Both halves of a replacement as one step: its deletion knows no new inputs and no difference."""
    return replace(
        first,
        diff=first.diff or second.diff,
        replace_reasons=first.replace_reasons or second.replace_reasons,
        old_inputs=first.old_inputs if first.old_inputs is not None else second.old_inputs,
        new_inputs=first.new_inputs if first.new_inputs is not None else second.new_inputs,
        protect=first.protect or second.protect,
    )


def _cut_short(begun: _Open, *, succeeded: bool) -> Step:
    if begun.step.op is Op.REPLACE and succeeded:
        return replace(begun.step, status=Status.DONE)
    if begun.halves & _HALVES:
        done = "its old resource is gone and no new one was made"
        if "create-replacement" in begun.halves:
            done = "the new resource exists and its old one was not deleted"
        return replace(begun.step, status=Status.FAILED, error=f"the replacement was interrupted: {done}")
    return replace(begun.step, status=Status.SKIPPED)


class EventRelay:
    """Hands the CLI's events on, one at a time and never after `close`.

    The Automation API turns an exception of a listener into a warning, so it is kept and raised by `close`.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._open = True
        self._failure: Exception | None = None

    def pass_on(self, event: automation.EngineEvent) -> None:
        with self._lock:
            if not self._open or self._failure is not None:
                return
            try:
                self._recorder.take(event)
            except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
                self._failure = error

    def close(self) -> None:
        with self._lock:
            self._open = False
        if self._failure is not None:
            raise self._failure
