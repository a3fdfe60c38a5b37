"""An engine for passes that writes down what it is asked for and fails where it is told, and steps of plans."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from infra.engines.away import Fallbacks
from infra.engines.passes import HeldBackError
from infra.engines.phased import apply
from infra.engines.protocol import Engine, Listener
from infra.model.bounds import Bound
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic, Event, Op, Plan, Status, Step
from infra.model.planned_capacity import VM_TYPE
from tests.engines.phase_world import PROJECT, ZONE, bound

GRANT = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"
FULL = bound("reserved", 8)
POOL = "ct5lp-hightpu-4t-2x2-a-spot"


def vm(op: Op, pool: str = "a", index: int = 0, *, accelerator: str = "v5litepod-4", zone: str = ZONE) -> Step:
    name = f"{pool}-{zone}-{index}"
    inputs = {
        "acceleratorType": accelerator,
        "project": PROJECT,
        "zone": zone,
        "labels": {"tidepool-pool": pool.partition("-")[0]},
        "schedulingConfig": {"reserved": True},
    }
    old, new = (None if op is Op.CREATE else inputs), (None if op is Op.DELETE else inputs)
    return Step(op=op, urn=f"urn::{name}", type=VM_TYPE, name=name, old_inputs=old, new_inputs=new)


def other(op: Op, name: str, type_: str = GRANT) -> Step:
    return Step(op=op, urn=f"urn::{name}", type=type_, name=name, old_inputs={}, new_inputs={})


def nodes(before: int, after: int) -> Step:
    """A node pool of one-host slices."""

    labels = {"tidepool-slices": "train", "tidepool-accelerator": "v5litepod-4"}
    config = {"resourceLabels": labels, "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}}
    inputs = {"nodeConfig": config, "nodeLocations": [ZONE], "project": PROJECT}
    step = other(Op.UPDATE, POOL, "gcp:container/nodePool:NodePool")
    return replace(step, old_inputs={**inputs, "nodeCount": before}, new_inputs={**inputs, "nodeCount": after})


def plan(*steps: Step) -> Plan:
    return Plan(stack="ci", engine="fake", cloud="local", steps=steps)


def name(pool: str, index: int = 0) -> str:
    return f"{pool}-{ZONE}-{index}"


@dataclass
class Lab:
    """Engines for passes. failing: errors by name of a resource. broken: what `up` raises from its n-th call on.

    adopted: what a pass that adopts says. silent, skipped: of what passes say nothing, or that it was not begun. half:
    replacements that fail at their delete. extra: what a pass that makes does besides. ops: what each was to make.
    asked: every pass, as verb, names it is about (`-` before what is left out), and whether it goes on after failures.
    bad: what did not end DONE, and why. blamed: errors of the run.
    """

    failing: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[int, EngineError] = field(default_factory=dict)
    adopted: tuple[Step, ...] = ()
    silent: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    half: frozenset[str] = frozenset()
    extra: tuple[Step, ...] = ()
    ops: list[dict[str, Op]] = field(default_factory=list)
    asked: list[tuple[str, str, bool]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    held: list[tuple[bool, list[str], list[str], list[str], bool]] = field(default_factory=list)
    refuses: str = ""
    bad: dict[str, tuple[Status, str | None]] = field(default_factory=dict)
    blamed: list[str] = field(default_factory=list)

    def make(self, *, targets: tuple[str, ...], continue_on_error: bool, excludes: tuple[str, ...] = ()) -> Engine:
        return cast("Engine", _Pass(self, targets, continue_on_error, excludes))

    def tell(self, event: Event) -> None:
        assert isinstance(event, Diagnostic)
        self.said.append(event.message)

    @contextmanager
    def hold(
        self,
        *,
        leaving: Collection[str],
        staying: Collection[str],
        begun: bool,
        returning: Collection[str] = (),
        makes_room: bool = False,
    ) -> Generator[None]:
        self.held.append((begun, sorted(leaving), sorted(staying), sorted(returning), makes_room))
        if begun and self.refuses:
            raise HeldBackError(self.refuses)
        yield

    def up(self, *steps: Step, bounds: Sequence[Bound] = (FULL,), away: Fallbacks | None = None, **given: Any) -> Plan:
        self.plan = plan(*steps)
        run = apply(self.plan, bounds, self.make, self.tell, away, self.hold, **{"at_once": True, **given})
        self.bad = {step.name: (step.status, step.error) for step in run.steps if step.status is not Status.DONE}
        self.blamed = [each.message for each in run.diagnostics if each.severity == "error"]
        return run


@dataclass
class _Pass:
    lab: Lab
    targets: tuple[str, ...]
    go_on: bool
    excludes: tuple[str, ...]

    def _asked(self, verb: str) -> None:
        about = [*self.targets, *(f"-{urn}" for urn in self.excludes)]
        self.lab.asked.append((verb, " ".join(each.replace("urn::", "") for each in about), self.go_on))

    def _run(self, steps: Sequence[Step]) -> Plan:
        ended: list[Step] = []
        for step in steps:
            error = self.lab.failing.get(step.name)
            stopped = bool(ended) and ended[-1].status is not Status.DONE and not self.go_on
            if stopped or step.name in self.lab.skipped:
                ended.append(replace(step, status=Status.SKIPPED))
            elif step.name not in self.lab.silent:
                op = Op.DELETE if step.name in self.lab.half else step.op
                status = Status.FAILED if error else Status.DONE
                ended.append(replace(step, op=op, status=status, error=error, seconds=1.23456))
        said = (Diagnostic(severity="warning", message=f"pass {len(self.lab.asked)}"),)
        return replace(plan(*ended), diagnostics=said, outputs={"n": 1})

    def up(self, listener: Listener | None = None, *, planned: Plan) -> Plan:
        assert listener
        assert planned.stack == "ci"
        self._asked("up")
        if error := self.lab.broken.get(sum(verb == "up" for verb, _, _ in self.lab.asked)):
            raise error
        steps = [step for step in planned.steps if step.urn not in self.excludes]
        self.lab.ops.append({step.name: step.op for step in steps})
        return self._run([*steps, *self.lab.extra])

    def destroy(self, listener: Listener | None = None) -> Plan:
        assert listener
        self._asked("destroy")
        gone = [replace(step, op=Op.DELETE) for step in self.lab.plan.steps if step.urn in self.targets]
        return self._run(gone)

    def adopt(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        assert listener
        assert planned is None
        self._asked("adopt")
        return plan(*self.lab.adopted)
