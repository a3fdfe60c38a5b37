"""A VM without a machine: what the supervisor's decisions ask for, answered from a world that a test describes.

Owns time, which passes only where a decision waits, and what a kill leaves behind: the lasting part of the state, as it
was when the last effect was asked for. Real: every decision. What a real VM does with the effects is tried in a sandbox
(`tests/fleet/test_runner_*.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from infra.fleet.runner.supervisor import effects as e
from infra.fleet.runner.supervisor import orders
from infra.fleet.runner.supervisor.boot import Boot
from infra.fleet.runner.supervisor.state import State, Waits
from infra.fleet.runner.supervisor.supervise import Supervisor

IMAGE = f"us-west4-docker.pkg.dev/lab/ci/tpu-ci@sha256:{'a' * 64}"
OTHER_IMAGE = f"us-west4-docker.pkg.dev/lab/ci/tpu-ci@sha256:{'b' * 64}"
FIRST, SECOND = "1" * 64, "2" * 64
VM = "tpu-ci-us-west4-a-0"
HOST = e.Host("ci", "tpu-ci", "us-west4", VM, "4567", 0, ("10.0.0.2",))
SECRET = "registration-number-"


class KilledError(Exception):
    """kill -9, in the middle of a decision."""


def key(number: int) -> str:
    """A public key, of which there is one a number."""
    return f"ssh-ed25519 {number:A>68}"


@dataclass
class World:
    """own: the VM's orders. fails: effects, or names of machine steps, that fail. answers: the broker's, in turn.

    container: the lines that a runner prints, and its status. happens: called before each look, with its number.
    objects: of the bucket, by name, beside orders and records; what is written is there too. silent: addresses of hosts
        that do not answer. free: megabytes of the disk. skew: seconds that its clock is ahead, None where nobody says.
    """

    own: Any = None
    startup: Any = field(default_factory=lambda: {"broker": "https://broker.example", "serves": {"tpu-ci": ["a/b"]}})
    pointer: Any = field(default_factory=lambda: {"images": {"tpu-ci": {"us-west4": IMAGE}}})
    fails: set[str] = field(default_factory=set)
    answers: list[e.Answer] = field(default_factory=list)
    container: tuple[tuple[str, ...], int] = (("T: Listening for Jobs", "T: Running job: tests"), 0)
    happens: Callable[[int], None] = lambda _: None
    objects: dict[str, Any] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    free: int = 100_000
    skew: int | None = 0


class MachineInMemory:
    """done: every effect that was carried out, of all processes. kill: before which effect, counted from 1; 0 for none.

    current: the bundle that boots. running: the one whose supervisor runs, empty before the first. looks: at orders, so
        far.
    """

    def __init__(self, world: World, *, kill: int = 0, host: e.Host = HOST) -> None:
        self.world, self.kill, self.host = world, kill, host
        self.now = 1_000_000.0
        self.done: list[e.Effect] = []
        self.kept = State()
        self.current, self.running = FIRST, ""
        self.looks = 0
        self._registered = 0

    def lives(self, decisions: int) -> None:
        """Boot, and go on for so many decisions; a kill is followed by a boot, as of a VM that was turned off."""
        while decisions > 0:
            try:
                decisions = self._process(decisions)
            except KilledError:
                self.kill = 0

    def count(self, kind: type[e.Effect], **said: Any) -> int:
        return sum(
            isinstance(each, kind) and all(getattr(each, key) == value for key, value in said.items())
            for each in self.done
        )

    def _process(self, decisions: int) -> int:
        """A boot and the supervisor that it starts, until that hands over."""
        state = self.kept.reborn()
        boot = Boot(state, clock=self.clock, ticks=self.clock, host=self.host)
        if self.carried_out(boot, boot.boot(self.current)):
            self.running = self.current
        if not self.running:
            return 0  # it halted at its first boot: no supervisor goes on
        state = self.kept.reborn()
        core = Supervisor(state, clock=self.clock, ticks=self.clock, luck=lambda: 0.0)
        self.carried_out(core, core.begin(self.running))
        while decisions > 0 and state.waits is not Waits.HANDED_OVER:
            for steps in self._next(core):
                self.carried_out(core, steps)
            decisions -= 1
        return decisions

    def decided(self, decisions: int = 8) -> Supervisor:
        """A supervisor on a VM that has booted, for so many decisions."""
        core = Supervisor(self.kept.reborn(), clock=self.clock, ticks=self.clock, luck=lambda: 0.0)
        self.carried_out(core, core.begin(FIRST))
        for _ in range(decisions):
            self.goes_on(core)
        return core

    def goes_on(self, core: Supervisor) -> None:
        """One decision more."""
        for steps in self._next(core):
            self.carried_out(core, steps)

    def _next(self, core: Supervisor) -> Iterator[e.Steps[None]]:
        state = core.state
        if state.waits is Waits.CONTAINER:
            lines, status = self.world.container
            for line in lines:
                yield core.hear(line)
            self._looks()
            yield core.look()
            yield core.ended(143 if state.stopped else status)
        elif state.waits is Waits.REST:
            self._looks()
            yield core.look()
            if state.waits is Waits.REST:
                self.now = max(self.now, state.until or self.now)
                yield core.serve()
        else:
            yield core.serve()

    def _looks(self) -> None:
        self.looks += 1
        self.now += 15
        self.world.happens(self.looks)

    def clock(self) -> float:
        return self.now

    def carried_out(self, core: Any, steps: e.Steps[Any]) -> Any:
        def perform(effect: e.Effect) -> Any:
            self.kept = core.state.reborn()
            if self.kill and len(self.done) + 1 >= self.kill:
                raise KilledError
            self.done.append(effect)
            return self._answer(effect)

        came_to = e.carried_out(steps, perform)
        self.kept = core.state.reborn()
        return came_to

    def _answer(self, effect: e.Effect) -> Any:
        world = self.world
        name = effect.name if isinstance(effect, e.RunStep) else type(effect).__name__
        if name in world.fails:
            return e.Failed(f"{name} fails")
        match effect:
            case e.RunSteps():
                return tuple(e.Ended(0.0, self._answer(step)) for step in effect.steps)
            case e.WhoAmI():
                return self.host
            case e.Read():
                own = orders.orders_object(self.host.vm)
                found = {orders.STARTUP: world.startup, orders.POINTER: world.pointer, own: world.own, **world.objects}
                return found.get(effect.name)
            case e.Write():
                world.objects[effect.name] = effect.document
            case e.MakeKey():
                return key(self.count(e.MakeKey))
            case e.Answers():
                return effect.address not in world.silent
            case e.FreeDisk():
                return world.free
            case e.ReadSkew():
                return world.skew
            case e.Register():
                return self._registration()
            case e.PrepareJob():
                return e.Prepared(190_000, (), "", False, False, "/opt/uv/cache", "/job", "/slice", "/hosts")
            case e.StartOver():
                self.current = effect.bundle
            case e.Sleep():
                self.now += effect.seconds
        return None

    def _registration(self) -> e.Answer:
        if self.world.answers:
            return self.world.answers.pop(0)
        self._registered += 1
        return e.Answer(200, jit=f"{SECRET}{self._registered}", runner=f"{VM}-{self._registered:06x}")
