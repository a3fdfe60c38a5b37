"""What every part of one operation shares: options, state, journal, events, and whether to stop.

Owns the recording of steps and of what has become of each resource. Does not decide what is to be done.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bench.engine.provider import Cancel
from bench.engine.state import encode
from bench.engine.values import masked
from infra.model.plan import Diagnostic, Event, Plan, Status, Step, StepEnded, StepStarted
from infra.model.urns import Patterns, Targets

if TYPE_CHECKING:
    from bench.engine.checkpoint import Snapshot
    from bench.engine.journal import Journal, OperationType
    from bench.engine.state import ResourceState

Listener = Callable[[Event], None]
DEFAULT_PARALLEL = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an operation goes.

    parallel: how many resources are worked on at once.
    targets: URNs, wildcards allowed, that alone may change; empty means all.
    excludes: URNs, wildcards allowed, that stay as they are, with what they need; not beside targets.
    continue_on_error: go on with what does not depend on a failed resource.
    refresh: read every resource first.
    exclude_protected: destroy leaves protected resources, and what they need, instead of refusing.
    previewed: the caller has previewed this very program and found no fault; `up` then does not look again.
    standing: ids that exist in the cloud and are this stack's; what is registered under one that the state lacks is
        adopted, and then planned as any other.
    claims: URNs, wildcards allowed, of what is adopted where the cloud has it, whoever made it.
    importable: whether a resource of a type, with these inputs, is looked for where the state lacks it, and adopted.
    is_anothers: whether such a resource belongs to others, by declared inputs and the outputs that were found.
    foreign: ids that exist and are another's: a create that was in flight under one is forgotten.
    adopting: adopt, and change nothing else.
    first: called before a destroy deletes anything, once it is known that nothing protected would go.
    """

    parallel: int = DEFAULT_PARALLEL
    targets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    continue_on_error: bool = False
    refresh: bool = False
    exclude_protected: bool = False
    previewed: bool = False
    standing: frozenset[str] = frozenset()
    claims: tuple[str, ...] = ()
    importable: Callable[[str, Mapping[str, Any]], bool] = lambda _type, _inputs: False
    is_anothers: Callable[[Mapping[str, Any], Mapping[str, Any]], bool] = lambda _inputs, _outputs: False
    foreign: frozenset[str] = frozenset()
    adopting: bool = False
    first: Callable[[], object] | None = None


class StoppedError(Exception):
    """The operation is being given up; nothing new is begun."""


class EngineRun:
    """One preview, update, refresh or destroy.

    `seen` holds the URNs that the program has asked for, `failed` those that failed or were skipped, `absent` those
    that do not exist and are no target, and `adopted` those that this run took over from the cloud. `states` is the
    state as it is now; `olds` what it was when the program began, by URN. `under_way` has begun and not ended.
    `journal` is None in a preview, which changes neither state nor cloud.
    """

    def __init__(
        self, snapshot: Snapshot, options: Options, listener: Listener | None, journal: Journal | None = None
    ) -> None:
        self.snapshot = snapshot
        self.options = options
        self.targets = Targets(options.targets)
        self.excludes = Patterns(options.excludes)
        self.claims = Patterns(options.claims)
        self.journal = journal
        self.states = snapshot.states
        self.olds = snapshot.live()
        self.steps: list[Step] = []
        self.diagnostics: list[Diagnostic] = []
        self.failed, self.seen, self.absent, self.adopted = (set[str]() for _ in range(4))
        self.cancel = Cancel()
        self.stopping = threading.Event()
        self.lock = threading.RLock()
        self._slots = threading.BoundedSemaphore(options.parallel)
        self._begun: dict[str, float] = {}
        self.under_way: dict[int, tuple[OperationType, ResourceState]] = {}
        self._listener = listener
        self._listening = threading.Lock()

    @property
    def preview(self) -> bool:
        return self.journal is None

    def admit(self, urn: str) -> bool:
        """Whether the program asks for this resource for the first time; a second time is its fault, and is said."""
        with self.lock:
            if urn not in self.seen:
                self.seen.add(urn)
                return True
        self.say("error", f"duplicate resource URN {urn}: give one of the two another name", urn)
        return False

    # What is said

    def say(
        self, severity: Literal["info", "warning", "error"], message: str, urn: str = "", *, repeats: bool = False
    ) -> None:
        """Pass on a message, and keep it for the plan."""
        diagnostic = Diagnostic(severity=severity, message=message, urn=urn, repeats=repeats)
        self.diagnostics.append(diagnostic)
        self._send(diagnostic)

    def _send(self, event: Event) -> None:
        if self._listener is not None:
            with self._listening:
                self._listener(event)

    def started(self, step: Step) -> None:
        """A step begins."""
        if not self.preview:
            self._begun[step.urn] = time.monotonic()
            self._send(StepStarted(step=step))

    def ended(self, step: Step) -> None:
        """A step has ended well, or is planned."""
        self._keep(step, Status.PLANNED if self.preview else Status.DONE)

    def skipped(self, step: Step, why: str) -> None:
        """A step is left out because of what it depends on."""
        self._keep(step, Status.SKIPPED, why)

    def broke(self, step: Step, message: str) -> None:
        """A step has failed; without continue_on_error nothing new begins after it."""
        self.say("error", message, step.urn)
        self._keep(step, Status.FAILED, message)
        if not self.options.continue_on_error and not self.preview:
            self.stopping.set()

    def refused(self, steps: Sequence[Step], message: str, each: Callable[[Step], str]) -> None:
        """Steps that may not be done have failed before they began; one message tells of all of them."""
        self.failed.update(step.urn for step in steps)
        self.say("error", message)
        self.steps += [replace(step, status=Status.FAILED, error=each(step)) for step in steps]

    def _keep(self, step: Step, status: Status, error: str | None = None) -> None:
        begun = self._begun.get(step.urn)
        seconds = None if begun is None else round(time.monotonic() - begun, 3)
        step = replace(step, status=status, error=error, seconds=seconds)
        with self.lock:
            self.failed |= {step.urn} if error else set()
            self.steps.append(step)
        self._send(StepEnded(step=step))

    # What is done

    @contextmanager
    def slot(self) -> Generator[None]:
        """One of the places for work on a resource; raises StoppedError where the operation is being given up."""
        with self._slots:
            if self.stopping.is_set():
                raise StoppedError
            yield

    def begin(self, kind: OperationType, state: ResourceState) -> int:
        """Journal what a provider is about to be asked."""
        assert self.journal is not None
        number = self.journal.begin(kind, encode(state, self.snapshot.vault))
        with self.lock:
            self.under_way[number] = (kind, state)
        return number

    def note(self, *states: ResourceState, drop: tuple[ResourceState, ...] = (), ended: int | None = None) -> None:
        """Take over what has changed in the state; journalled unless this is a preview. ended: what came to this."""
        if self.journal is not None:
            entries = [encode(state, self.snapshot.vault) for state in states]
            self.journal.note(entries, [state.key for state in drop], ended=ended)
        with self.lock:
            if ended is not None:
                del self.under_way[ended]
            for state in drop:
                self.states.pop(state.key, None)
            self.states.update((state.key, state) for state in states)

    def plan(self, stack: str, engine: str, cloud: str) -> Plan:
        """Everything that was planned or done."""
        return Plan(
            stack=stack,
            engine=engine,
            cloud=cloud,
            steps=tuple(self.steps),
            outputs=masked(self.snapshot.outputs),
            diagnostics=tuple(self.diagnostics),
        )


@contextmanager
def interruptible(run: EngineRun) -> Generator[list[int]]:
    """Ctrl-C once: begin nothing new and wait for what is under way. Twice: stop waiting too."""
    presses: list[int] = []
    said = "stopping: waiting for what is under way, starting nothing new; Ctrl-C again stops waiting"
    # In a thread of its own: the one that is interrupted may hold the listener's lock.
    telling = threading.Thread(target=run.say, args=("warning", said))

    def pressed(number: int, _frame: object) -> None:
        presses.append(number)
        run.stopping.set()
        run.cancel.pressed.set()
        if len(presses) > 1:
            run.cancel.set()
            return
        telling.start()

    if threading.current_thread() is not threading.main_thread():
        yield presses
        return
    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)
        if presses:
            telling.join()
