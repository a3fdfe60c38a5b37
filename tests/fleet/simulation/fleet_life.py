"""One life of a fleet under faults, swept by the real controller in virtual time.

Real: `Sweeper` with its lease, memory and records, `Observer`, `Actor`, every decision, the broker's decisions,
bindings and removals, the guests of the local cloud. Not real: HTTP, signatures, Google and GitHub themselves, threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Self
from unittest.mock import patch

from infra.fleet.controller.act import ABREAST, Actor
from infra.fleet.controller.actions import Assign, Report, subject
from infra.fleet.controller.github import GitHubError
from infra.fleet.controller.lease import LeaseTakenError
from infra.fleet.controller.lookout import Lookout
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.sweep import Sweeper, SweepError, Swept
from infra.fleet.google import GoogleError
from infra.fleet.records import Records
from infra.model.manifest import manifest
from tests.fleet.simulation import guests_in_process
from tests.fleet.simulation.fleet_faults import KINDS, Fault
from tests.fleet.simulation.github_in_process import ByKeeper
from tests.fleet.simulation.google_in_process import Died, GoogleInProcess, Process
from tests.fleet.simulation.promises import BrokenPromiseError
from tests.fleet.simulation.simulated_world import World
from tests.fleet.simulation.two_controllers import Duet
from tests.model.given import parse, pool, stack_text

EVERY = 120.0
BOUND = 5 * 3600.0
"""Seconds after the end of the last fault within which the fleet is as declared."""
_JOBS_EVERY = 360.0


SLOTS = 6
_QUOTA = "- {{project: my-lab, zone: {}, generation: v5e, kind: preemptible, chips: {}}}\n"


@cache
def fleets() -> tuple[dict[str, Any], ...]:
    """Manifests of six VMs each, with limits that are just enough: a pool in two zones; one beside reserved slices."""
    fallback = "[{zone: us-central1-a, capacity: spot}]"
    pools = [
        _pool(zones="{us-west4-a: 4, europe-west4-b: 2}", fallback=fallback),
        _pool(zones="{us-west4-a: 2, europe-west4-b: 1}", fallback=fallback)
        + _pool(name="tpu-held", zones="{us-west4-a: 3}", capacity="{reserved: gold}", accelerator="v5litepod-16"),
    ]
    gold = "- {name: gold, project: my-lab, zone: us-west4-a, generation: v5e, chips: 56, held_elsewhere: 8}\n"
    given = [(pools[0], (16, 8, 24), {}), (pools[1], (8, 4, 12), {"reservations": gold})]
    zones = ("us-west4-a", "europe-west4-b", "us-central1-a")
    quotas = ["".join(map(_QUOTA.format, zones, chips)) for _, chips, _ in given]
    texts = [stack_text(pools=pool, quotas=quota, **more) for (pool, _, more), quota in zip(given, quotas, strict=True)]
    return tuple(manifest(parse(text), bundle="ab", startup_script="#!/bin/sh") for text in texts)


def _pool(**fields: str) -> str:
    return pool(**{"name": "tpu-ci", "capacity": "preemptible", "serves": "[a-lab/code]"} | fields)


@dataclass(slots=True)
class Life:
    """world: what lives. skew: by how many seconds the controller's clock is ahead, until `skew_until`. dated: whether
        answers of Google's services tell it the time meanwhile.

    next_process, next_duet: what befalls the next sweep. hurry: by what a sweep sleeps longer than it asks for.
    """

    world: World
    next_process: Process | None = None
    next_duet: Duet | None = None
    skew: float = 0.0
    skew_until: float = 0.0
    dated: bool = False
    sweeps: int = 0
    swept: Swept | None = None
    hurry: float = 5.0

    def sweep(self, process: Process, skew: float) -> Swept | None:
        """One sweep of one controller; None where it could not, or died."""
        world, google = self.world, GoogleInProcess(self.world, process)
        records = Records(google=google, bucket="fleet")  # ty: ignore[invalid-argument-type]
        github = ByKeeper(world=world, process=process)
        sweeper = Sweeper(
            stack=world.desired.stack,
            records=records,
            observer=Observer(project=world.project, bucket="fleet", endpoint=None, github=github),
            actor=lambda desired: Actor(
                google=google,  # ty: ignore[invalid-argument-type]
                records=records,
                github=github,
                desired=desired,
                clock=lambda: world.now,
                sleep=lambda seconds: world.pass_until(world.now + self.hurry * seconds),
                began=world.now,
            ),
            clock=lambda: world.moment(0.0 if self.dated and has_heard(process) else skew),
        )
        self.sweeps += 1
        _GOOGLE.set(google)
        try:
            swept = sweeper.sweep()
        except Died:
            world.tell("the controller dies")
            return None
        except (GoogleError, GitHubError, SweepError, LeaseTakenError) as error:
            world.tell(f"no sweep: {error}")
            return None
        for each in swept.outcomes:
            if not isinstance(each.action, Report | Assign):
                world.tell(f"{type(each.action).__name__} {subject(each.action)}: {each.result.value} {each.text}")
        return swept

    def tick(self) -> Swept | None:
        """The sweep that is due now, or the two."""
        process, self.next_process = self.next_process or Process(), None
        duet, self.next_duet = self.next_duet, None
        skew = self.skew if self.world.now < self.skew_until else 0.0
        self.world.clocks_agree = (not skew or self.dated) and not (duet and duet.ahead)
        if duet is None:
            self.swept = self.sweep(process, skew)
        else:
            process.before_each = lambda call: duet.before_first(call, self._passes, lambda: self._second(duet))
            try:
                self.swept = self.sweep(process, skew)
            finally:
                duet.ends()
        self.world.promises.stand()
        return self.swept

    def rests_until(self, end: float) -> None:
        """Let time pass, in which looks between two sweeps may begin another one."""
        while not self.quiet and self.lookout().waits(end - self.world.now, self._passes):
            self.tick()
        self.world.pass_until(max(end, self.world.now))

    def lookout(self, process: Process | None = None) -> Lookout:
        """What looks after the last sweep."""
        google = GoogleInProcess(self.world, process or Process())
        return Lookout(google=google, swept=self.swept, clock=lambda: self.world.now)  # ty: ignore[invalid-argument-type]

    def _passes(self, seconds: float) -> None:
        self.world.pass_until(self.world.now + seconds)

    def _second(self, duet: Duet) -> None:
        """Another controller's sweep, whatever the first one does."""
        self.world.tell("a second controller sweeps")
        self.sweep(Process(before_each=duet.before_second), duet.ahead)

    def slot(self, fault: Fault) -> str:
        """The name of the slot that a fault befalls."""
        return str(self.world.manifest["slots"][fault.slot]["name"])

    def zone_of(self, fault: Fault) -> str:
        """Where a fault of a zone is: mostly at the slot's home, else in any zone, fallbacks too."""
        zones = sorted(self.world.desired.zones)
        anywhere = zones[int(fault.roll * 1000) % len(zones)]
        return str(self.world.manifest["slots"][fault.slot]["zone"]) if fault.roll < 0.7 else anywhere

    @property
    def quiet(self) -> bool:
        """Whether nothing happens until the next fault: then sweeps are left out."""
        idle = self.swept is not None and self.swept.settled and not self.world.promises.missing()
        lying = any(lie.until > self.world.now for lie in self.world.tpus.lies.values())
        down = any(until > self.world.now for until in self.world.down.values())
        return (
            idle
            and not lying
            and not down
            and not (self.next_process or self.next_duet)
            and self.world.now >= self.skew_until
        )


def has_heard(process: Process) -> bool:
    """Whether an answer told it the time."""
    return process.calls > 0


def newborn(seed: int) -> Life:
    return Life(World(seed=seed, manifest=fleets()[seed % len(fleets())]))


def live(seed: int, faults: Sequence[Fault]) -> Life:
    """A whole life. Raises BrokenPromiseError, with what happened before."""
    life = newborn(seed)
    world = life.world
    try:
        with in_process():
            grow_up(life)
            _live(life, faults)
    except BrokenPromiseError as broken:
        told = "\n".join(world.log[-40:])
        raise BrokenPromiseError(f"{broken} ({world.moment():%a %H:%M:%S})\n{told}") from None
    return life


def grow_up(life: Life) -> None:
    """Until every VM serves, and jobs come."""
    life.world.populate()
    life.world.pass_until(life.world.now + 1800)
    life.tick()
    _jobs(life.world)


def _live(life: Life, faults: Sequence[Fault]) -> None:
    world = life.world
    began = world.now
    due = list(faults)
    last = max((fault.ends for fault in faults), default=0.0) + began
    tick = world.now
    while True:
        tick += EVERY
        if life.quiet and due:
            # Faults know nothing of sweeps: one comes at any time after the sweep before.
            tick = max(tick, began + due[0].at + EVERY * due[0].roll)
        while due and began + due[0].at <= tick:
            fault = due.pop(0)
            life.rests_until(began + fault.at)
            world.log.append(f"- {fault}")
            KINDS[fault.kind](life, fault)
        life.rests_until(tick)
        life.tick()
        if due:
            continue
        missing = world.promises.missing()
        if not missing and world.now >= last:
            return
        if world.now > last + BOUND:
            raise BrokenPromiseError(f"{BOUND / 3600:.0f} h after the last fault: {'; '.join(missing)}")


def _jobs(world: World) -> None:
    """Jobs come for ever, more or less as many as six VMs can do."""

    def comes() -> None:
        if world.github.queued < 6:
            world.github.queued += 1
        world.plan(_JOBS_EVERY * 2 * world.draw("next job", world.now), comes)

    world.plan(0, comes)


class _AtOnce:
    """An executor without threads, so that every life goes the same way each time."""

    def __init__(self, *, max_workers: int, **_: Any) -> None:
        self._workers = min(max_workers, ABREAST)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, do: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        return (self.submit(do, item).result() for item in items)

    def submit(self, do: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        alone = SIDE_BY_SIDE.set(self._workers)
        try:
            future.set_result(do(*args))
        except Exception as error:  # noqa: BLE001 - whatever it is, its owner is told
            future.set_exception(error)
        finally:
            SIDE_BY_SIDE.reset(alone)
        return future

    def shutdown(self, **_: Any) -> None:
        pass


SIDE_BY_SIDE: ContextVar[int] = ContextVar("calls that are under way at a time", default=1)
_GOOGLE: ContextVar[GoogleInProcess] = ContextVar("clients of the controller whose turn it is")


@contextmanager
def in_process() -> Generator[None]:
    """Controllers ask the world in place of Google, without threads of their own."""
    observe = "infra.fleet.controller.observe"
    with (
        patch(f"{observe}.clients", lambda *_, **__: _GOOGLE.get()),
        patch(f"{observe}.ThreadPoolExecutor", _AtOnce),
        patch("infra.fleet.controller.act.ThreadPoolExecutor", _AtOnce),
        patch("infra.fleet.controller.lookout.ThreadPoolExecutor", _AtOnce),
        patch("infra.fleet.proofs.signer", guests_in_process.signer),
    ):
        yield
