"""Windows through the controller's decisions, on a virtual clock: opened to serve on time, closed without killing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from infra.fleet.controller import by_hour
from infra.fleet.controller.actions import Create, Decision, Delete, Drain, Recreate, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observed import NodeSeen
from infra.model.schema import Freeze, Window
from tests.fleet.controller.given_fleet import HOME, fleet, minutes, node, quota, remembered, runner, seen, slot

NIGHT = datetime(2026, 11, 24, 2, 0, tzinfo=UTC)
EVENING = NIGHT - timedelta(hours=2)
SWEEP = minutes(2)
BOOTS = minutes(7)
"""From a create to a runner online, in this world."""


def window(**given: object) -> Window:
    usual = {"name": "night", "start": "0 2 * * *", "duration": "1h", "time_zone": "UTC", "adds": {HOME: 1}}
    return Window.model_validate(usual | given)


def pool(*windows: Window, standing: int = 0, **given: object) -> Desired:
    most = sum(sum(each.adds.values()) for each in windows)
    closed = tuple(replace(slot(standing + index), in_window=True) for index in range(most))
    return fleet(standing, closed=closed, windows={"tpu-ci": windows}, **given)


@dataclass
class World:
    """One zone in which creates succeed at once and runners come online after BOOTS; busy says who has a job when."""

    declared: Desired
    now: datetime = EVENING
    memory: Memory = EMPTY
    made: dict[str, datetime] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    busy: Callable[[str, datetime], bool] = lambda _vm, _now: False
    decisions: list[tuple[datetime, Decision]] = field(default_factory=list)
    served: dict[str, list[datetime]] = field(default_factory=dict)

    def live(self, until: datetime) -> World:
        while self.now < until:
            self._sweep()
            self.now += SWEEP
        return self

    def _sweep(self) -> None:
        desired = by_hour.at(self.declared, self.now, self.memory)
        observed = seen(desired, nodes=tuple(self._nodes()), runners=tuple(self._runners()))
        decision = decide(desired, observed, self.memory, self.now)
        for action in decision.actions:
            if isinstance(action, Delete | Recreate):
                self.made.pop(action.node.name)
            if isinstance(action, Create | Recreate):
                self.made[action.slot] = self.now
            if isinstance(action, Drain):
                (self.drained.add if action.on else self.drained.discard)(action.vm)
        self.memory = remembered(decision, desired, self.now)
        self.decisions.append((self.now, decision))

    def _nodes(self) -> Iterator[NodeSeen]:
        for vm, at in self.made.items():
            yield node(vm, created=f"{at:%Y-%m-%dT%H:%M:%SZ}")

    def _runners(self) -> Iterator[object]:
        for number, (vm, at) in enumerate(self.made.items(), start=1):
            busy = self.busy(vm, self.now)
            if self.now - at >= BOOTS and (busy or vm not in self.drained):
                self.served.setdefault(vm, []).append(self.now)
                yield runner(vm, number=number, busy=busy)

    def did(self, kind: type) -> list[tuple[str, datetime]]:
        return [(subject(each), at) for at, said in self.decisions for each in said.actions if isinstance(each, kind)]


VM = f"tpu-ci-{HOME}-0"


def test_a_window_is_opened_early_enough_to_serve_when_it_starts() -> None:
    """The first night by the stack's boot minutes, the second by what the first start took."""
    world = World(pool(window())).live(NIGHT + timedelta(days=1, minutes=30))
    (_, first), (_, second) = world.did(Create)
    assert NIGHT - first == minutes(22), "20 boot minutes, and a sweep that may come late"
    took = world.memory.starts["tpu-ci"][0]
    assert NIGHT + timedelta(days=1) - second == minutes(took + 2)
    assert NIGHT in world.served[VM]
    assert [at for _, at in world.did(Drain) if at < NIGHT] == [], "a shorter measure closes nothing that was opened"
    assert NIGHT + timedelta(days=1) in world.served[VM]


def test_no_job_is_killed_when_its_window_is_over() -> None:
    ends = NIGHT + timedelta(hours=2)
    world = World(pool(window()), busy=lambda _, now: NIGHT <= now < ends).live(NIGHT + timedelta(hours=3))
    assert world.did(Drain) == [(VM, NIGHT + timedelta(hours=1))]
    assert world.did(Delete) == [(VM, ends)]


def test_a_window_closes_in_a_freeze_and_though_its_vms_are_most_of_the_fleet() -> None:
    """It is what was declared; neither the freeze nor the limit on mass deletion holds VMs that would cost all day."""
    freeze = Freeze.model_validate({"name": "f", "time_zone": "UTC", "from": "2026-11-01", "to": "2026-12-01"})
    world = World(pool(window(adds={HOME: 12}), standing=1, freezes=(freeze,))).live(NIGHT + timedelta(hours=2))
    assert list(world.made) == [VM]
    assert not any(said.fuse_blown for _, said in world.decisions)
    assert len({at for vm, at in world.did(Create) if vm != VM}) == 1, "all at once: none of them lives for a day"


def test_a_day_off_and_the_day_after_the_last_open_nothing() -> None:
    off = window(days_off=[date(2026, 11, 24)], until=date(2026, 11, 25))
    world = World(pool(off)).live(NIGHT + timedelta(days=2, hours=1))
    assert [at.date() for _, at in world.did(Create)] == [date(2026, 11, 25)]


def test_what_windows_of_other_stacks_draw_counts_while_they_are_open() -> None:
    theirs = quota(4, windows=((window(start="0 3 * * *"), 4),))
    desired = pool(window(duration="3h"), caps=(theirs,))
    for hour, drawn in ((2, 0), (3, 4), (4, 0)):
        (cap,) = by_hour.at(desired, NIGHT.replace(hour=hour), EMPTY).caps
        assert cap.siblings == drawn


def test_a_fleet_without_windows_is_as_it_is_declared() -> None:
    desired = fleet(3)
    assert by_hour.at(desired, NIGHT, EMPTY) is desired
