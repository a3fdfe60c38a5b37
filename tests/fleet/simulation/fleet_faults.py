"""What goes wrong in a simulated life: faults drawn from a seed, each by itself, so that any may be left out.

Owns how often faults come, and what those do that are not Google's (`google_faults`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from infra.fleet import operator_requests
from infra.fleet.operator_requests import DrainRequest
from infra.model import bucket_names
from tests.fleet.simulation.google_faults import OF_GOOGLE, down, preempt, zone_preempted
from tests.fleet.simulation.google_in_process import Process
from tests.fleet.simulation.promises import SKEW
from tests.fleet.simulation.two_controllers import Duet

if TYPE_CHECKING:
    from tests.fleet.simulation.fleet_life import Life

DAY: Final = 86400.0
RECORDS: Final[tuple[Callable[[str, str], str], ...]] = (
    lambda stack, _: bucket_names.requests_object(stack),
    lambda stack, _: bucket_names.memory_object(stack),
    lambda stack, _: bucket_names.lease_object(stack),
    lambda stack, _: bucket_names.sweep_object(stack),
    lambda _, vm: bucket_names.orders_object(vm),
)
"""What the controller reads again: each may become unreadable."""
_OF_LATER: Final = (
    b'{"version": 7, "drains": "all"}',
    b'{"version": 2, "until": 5, "sweeps": 9, "events": [{"kind": "of-tomorrow"}], "drains": [{}], "restart": "soon"}',
)
PREEMPTIONS: Final = 2.0
"""Of a VM and day. A preemptible TPU VM lives 24 hours at most (cloud.google.com/tpu/docs/preemptible, read 2026-11),
so there is one a day at least; no rate is published, and this is twice that."""


@dataclass(frozen=True, slots=True)
class Fault:
    """at: seconds of the life. slot: index of the declared VM that it befalls. minutes: how long. roll: of its own."""

    at: float
    kind: str
    slot: int
    minutes: float
    roll: float

    @property
    def ends(self) -> float:
        return self.at + (self.minutes * 60 if self.kind in LASTING else 0)

    def __str__(self) -> str:
        lasting = f" for {self.minutes:.0f} min" if self.kind in LASTING else ""
        return f"after {self.at / 3600:.2f} h: {self.kind} (slot {self.slot}, roll {self.roll:.2f}){lasting}"


def drawn(seed: int, days: float, slots: int, others: float = 10.0, lasting: float = 1.0) -> tuple[Fault, ...]:
    """The faults of a life in their order, one of them of the kind whose turn it is.

    others: faults of all other kinds together, a day; 0 for preemptions alone. lasting: by what they are
        longer or shorter than usual.
    """
    dice = Random(f"faults {seed}")

    def fault(at: float, kind: str) -> Fault:
        low, high = LASTING.get(kind, (0, 0))
        return Fault(at, kind, dice.randrange(slots), dice.uniform(low, high) * lasting, dice.random())

    kinds = (*KINDS, *OFTEN)
    faults = [fault(dice.uniform(0, days * DAY), kinds[seed % len(kinds)])] if others else []
    for rate, among in ((PREEMPTIONS * slots, ("preempt",)), (others, kinds)):
        at = 0.0
        while rate and (at := at + dice.expovariate(rate) * DAY) < days * DAY:
            faults.append(fault(at, dice.choice(among)))
    return tuple(sorted(faults, key=lambda fault: fault.at))


LASTING: Final[dict[str, tuple[float, float]]] = {
    "stockout": (30, 360),
    "ghost-creates": (30, 360),
    "github-outage": (5, 120),
    "zone-outage": (5, 60),
    "zone-outage-of-a-day": (360, 1440),
    "zone-given-up": (60, 720),
    "flapping": (60, 360),
    "request-limit": (10, 120),
    "hanging-delete": (60, 180),
    "stuck": (30, 600),
    "bucket-outage": (1, 15),
    "late-list": (2, 15),
    "empty-list": (2, 10),
    "partial-list": (2, 20),
    "skew": (5, 60),
    "clock-off": (20, 120),
    "late-runners": (2, 8),
    "drained": (5, 90),
    "shrinks": (20, 240),
    "memory-lost": (20, 240),
}
"""Minutes that a fault lasts, from and to; what is not here happens at once."""


def _strikes(life: Life, fault: Fault, kind: str) -> None:
    """The next guest of a slot; the present VM goes."""
    life.world.struck[life.slot(fault), kind] += 1
    if kind != "unfit":
        preempt(life, fault)


def _lost(life: Life, fault: Fault) -> None:
    vm = life.slot(fault)
    if life.world.github.forget(vm):
        life.world.tell(f"{vm} loses its registration")


def _stray(life: Life, fault: Fault) -> None:
    """A VM with our label that nobody declares, of an accelerator that no limit here counts."""
    slot = life.world.desired.slots[fault.slot % len(life.world.desired.slots)]
    name = f"{slot.pool}-{slot.home.zone}-{20 + int(fault.roll * 20)}"
    if life.world.tpus.path(slot.home.zone, name) not in life.world.tpus.nodes:
        life.world.tpus.add(slot.home.zone, name, dict(slot.home.node["labels"]))


def _displaced(life: Life, fault: Fault) -> None:
    """A VM is gone, and one that nobody declares has its chips."""
    world = life.world
    node = world.tpus.of_slot(fault.slot)
    if node is None or node.state != "READY":
        return
    lie = world.tpus.lies.get(node.zone)
    if lie is not None and lie.until > world.now:
        return
    world.tpus.vanish(node)
    world.tell(f"{node.name} vanishes, and an orphan has its chips")
    body = {key: node.body[key] for key in ("acceleratorType", "schedulingConfig")}
    world.tpus.add(node.zone, f"{node.name}{int(fault.roll * 10)}", node.body["labels"], body)


def _shrinks(life: Life, fault: Fault) -> None:
    """`up` takes a slot away, whose VM has work, and gives it back later."""
    world = life.world
    gone = life.slot(fault)
    fewer = {**world.manifest, "slots": [slot for slot in world.manifest["slots"] if slot["name"] != gone]}
    world.declare(fewer)
    world.tell(f"{gone} is declared no more")
    world.github.queued += 3
    world.plan(fault.minutes * 60, lambda: world.declare(world.manifest))


def _drained(life: Life, fault: Fault) -> None:
    """People drain a VM, and end that later."""
    world, vm = life.world, life.slot(fault)
    request = DrainRequest(subject=vm, by="ada", since=world.moment(), minutes=30)
    world.tell(f"{vm} is drained")
    world.request(lambda body: operator_requests.with_drains(body, [request]))
    world.plan(fault.minutes * 60, lambda: world.request(lambda body: operator_requests.without_drains(body, {vm})))


def _run(life: Life, fault: Fault) -> None:
    zone = life.zone_of(fault)
    expires = int(life.world.now + 3600 * fault.roll)
    labels = {"tidepool-run": "5-1", "tidepool-expires": str(expires)}
    life.world.tpus.add(zone, f"run-{life.world.number()}", labels)


def _ghost(life: Life, fault: Fault) -> None:
    slot = life.world.desired.slots[fault.slot % len(life.world.desired.slots)]
    life.world.github.add(f"{slot.pool}-{slot.home.zone}-{30 + int(fault.roll * 10)}-{fault.slot:06x}")


def _promotes(life: Life, fault: Fault, *, bad: bool) -> None:
    part = "bundle" if fault.roll < 0.3 else "image"
    life.world.renew(part, bad=part if bad else "")


DAMAGES: Final = 3 + len(_OF_LATER)
"""Ways in which a record becomes unreadable."""


def _unreadable(life: Life, fault: Fault) -> None:
    """A record is damaged, or one that a later version wrote, and VMs are lost besides."""
    world, stack = life.world, life.world.desired.stack
    name = RECORDS[int(fault.roll * 1e3) % len(RECORDS)](stack, life.slot(fault))
    whole = (world.versions(name) or [(0, b"{}")])[0][1]
    damages = (b"", b"[]", whole[: len(whole) // 2], *_OF_LATER)
    damage = damages[int(fault.roll * 1e6) % len(damages)]
    world.tell(f"{name} becomes {damage[:80]!r}")
    world.write(name, damage)
    if name == bucket_names.requests_object(stack):
        world.plan(3600, lambda: _mended(life, name))
    zone_preempted(life, fault)


def _mended(life: Life, name: str) -> None:
    """Where no version of the requests can be read nothing is rolled out, until people do as the finding says."""
    for _, content in life.world.versions(name):
        with suppress(ValueError):
            operator_requests.read_requests(json.loads(content))
            return
    life.world.tell("people delete the requests")
    life.world.objects.pop(name, None)


def _memory_lost(life: Life, fault: Fault) -> None:
    """The memory is deleted, or the broker's record of where runners are as well, while `serves` changes.

    Jobs outlast for how long a drain waits.
    """
    world, stack = life.world, life.world.desired.stack
    world.objects.pop(bucket_names.memory_object(stack), None)
    if fault.roll < 0.3:
        world.objects.pop(bucket_names.scopes_object(stack), None)
    world.tell("memory is lost, and others are served")
    others = [{**slot, "serves": ["a-lab/other"]} for slot in world.manifest["slots"]]
    hasty = {**world.manifest["controller"], "job_minutes": 10}
    world.declare({**world.manifest, "slots": others, "controller": hasty})
    world.plan(fault.minutes * 60, lambda: world.declare(world.manifest))


def _crash(life: Life, fault: Fault) -> None:
    """The next controller has something to do, and ends at one of its changing calls."""
    preempt(life, fault)
    life.next_process = Process(dies_at=1 + int(fault.roll * 12), after=int(fault.roll * 24) % 2 == 0)


def _killed(life: Life, fault: Fault) -> None:
    """The next controller has a lot to do, and ends before any of its calls, also one that only reads."""
    zone_preempted(life, fault)
    life.next_process = Process(dies_before=1 + int(fault.roll * 1e6) % 120)


def _twin(life: Life, fault: Fault) -> None:
    """A second controller sweeps at the same time; its clock may say that the first one's lease is over."""
    preempt(life, fault)
    dice = Random(fault.roll)
    life.next_duet = Duet(
        begins=1 + dice.randrange(60),
        ahead=dice.choice((0.0, SKEW)),
        pause=dice.choice((0.0, 60.0, SKEW)),
        turns=dice.choice((0.0, 0.1, 0.5)),
        seed=fault.roll,
    )


def _skew(life: Life, fault: Fault) -> None:
    """So little that the Date of an answer, which some proxy may lack, need not put it right."""
    life.skew, life.dated = (2 * fault.roll - 1) * SKEW, False
    life.skew_until = life.world.now + fault.minutes * 60


def _clock_off(life: Life, fault: Fault) -> None:
    """An hour or more, while a VM of a run has less than that left."""
    _run(life, fault)
    life.skew, life.dated = (1 if fault.roll < 0.7 else -1) * DAY / 24 * (1 + fault.roll), True
    life.skew_until = life.world.now + fault.minutes * 60


def _skewed_vm(life: Life, fault: Fault) -> None:
    """A VM's clock is off from now on, as its reports tell; so it stays until the same befalls it once more."""
    life.world.clocks[life.slot(fault)] = (2 * fault.roll - 1) * SKEW


KINDS: Final[dict[str, Callable[[Life, Fault], None]]] = {
    **OF_GOOGLE,
    "github-outage": lambda life, fault: down(life, fault, "github"),
    "bucket-outage": lambda life, fault: down(life, fault, "bucket"),
    "never-registers": lambda life, fault: _strikes(life, fault, "mute"),
    "slow-boot": lambda life, fault: _strikes(life, fault, "slow-boot"),
    "unfit": lambda life, fault: _strikes(life, fault, "unfit"),
    "lost-registration": _lost,
    "orphan": _stray,
    "displaced": _displaced,
    "shrinks": _shrinks,
    "drained": _drained,
    "run": _run,
    "ghost": _ghost,
    "bad-version": lambda life, fault: _promotes(life, fault, bad=True),
    "good-version": lambda life, fault: _promotes(life, fault, bad=False),
    "unreadable-record": _unreadable,
    "memory-lost": _memory_lost,
    "crash": _crash,
    "killed": _killed,
    "two-controllers": _twin,
    "skew": _skew,
    "clock-off": _clock_off,
    "skewed-vm": _skewed_vm,
    "late-runners": lambda life, fault: life.world.github.lags(fault.minutes * 60),
}

OFTEN: Final = ("crash", "crash", "two-controllers", "two-controllers", "skew", "stockout")
"""Kinds that come more often than others: they have many outcomes."""
