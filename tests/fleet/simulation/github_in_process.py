"""GitHub in a simulated world: runners that register once for one job, seen as late as GitHub sees things.

Stands in the place of the broker's `GitHubApp`, and of what a runner's program does at GitHub. The controller's way to
it is the real broker's keeper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bench.cloud.control import ControlError
from infra.fleet.broker.audit import AuditedRequest
from infra.fleet.broker.github_app import GitHubRunner, Registered
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.broker.requests import RequestKind, controller_request
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.github import GitHubError
from infra.model.runner_names import vm_of

if TYPE_CHECKING:
    from tests.fleet.simulation.google_in_process import Process
    from tests.fleet.simulation.simulated_world import World

SERVED = "repos/a-lab/code"
"""The scope that simulated fleets serve at first."""
NOTICES = 60.0
"""Seconds until GitHub shows as offline a runner whose program is gone."""


@dataclass(slots=True)
class Registration:
    """offline_from: when it is seen to be offline; None while its program runs. job_seconds: of its job, 0 for none."""

    id: int
    name: str
    scope: str
    connected: bool = False
    offline_from: float | None = None
    job_seconds: float = 0.0


class GitHubInProcess:
    def __init__(self, world: World) -> None:
        self._world = world
        self.registrations: dict[int, Registration] = {}
        self.queued = 0
        self._number = 0
        self._late_until = 0.0
        self._then: tuple[tuple[str, GitHubRunner], ...] = ()

    # As the broker's app asks it.

    def find(self, scope: str, name: str, *, deadline: float) -> GitHubRunner | None:
        self._answers()
        return next((runner for of, runner in self._all() if of == scope and runner.name == name), None)

    def runner(self, scope: str, number: int, *, deadline: float) -> GitHubRunner | None:
        self._answers()
        found = self.registrations.get(number)
        return self._shown(found) if found else None

    def runners(self, scope: str, *, deadline: float) -> tuple[GitHubRunner, ...]:
        self._answers()
        listed = self._then if self._late_until > self._world.now else self._all()
        return tuple(runner for of, runner in listed if of == scope)

    def remove(self, scope: str, runner: GitHubRunner, *, deadline: float) -> None:
        self._answers()
        gone = self.registrations.pop(runner.id, None)
        if gone is not None:
            self._world.promises.before_removal(self._shown(gone))

    def register(
        self, scope: str, name: str, *, labels: tuple[str, ...], group: str | None, deadline: float
    ) -> Registered:
        self._answers()
        made = self.add(name, scope)
        return Registered(id=made.id, jit=str(made.id), expires=self._world.moment() + timedelta(hours=1))

    def add(self, name: str, scope: str = SERVED) -> Registration:
        self._number += 1
        self.registrations[self._number] = Registration(self._number, name, scope)
        return self.registrations[self._number]

    # As a runner's program does.

    def connect(self, jit: str) -> None:
        found = self._of(jit)
        vm = vm_of(found.name) or ""
        if self._world.image_of(vm).rpartition("@")[2] in self._world.bad:
            raise ControlError("the runner of this image ends at once")
        found.connected = True

    def disconnect(self, jit: str) -> None:
        found = self._of(jit)
        if found.job_seconds and found.offline_from is None:
            self._world.promises.before_cut(found.name, jit)
        if found.offline_from is None:
            found.offline_from = self._world.now + (NOTICES if found.connected else 0)

    def take_work(self, jit: str) -> dict[str, Any] | None:
        found = self._of(jit)
        if not self.queued:
            return None
        self.queued -= 1
        found.job_seconds = 300 + 6000 * self._world.draw("job", found.id) ** 3
        return {"id": found.id, "name": f"job {found.id}", "seconds": found.job_seconds}

    def end_job(self, jit: str, _conclusion: str) -> None:
        self._of(jit)
        del self.registrations[int(jit)]

    # What else is asked of it, or befalls it.

    def lags(self, seconds: float) -> None:
        """For so long, lists of runners say what is true now."""
        self._late_until, self._then = self._world.now + seconds, self._all()

    def busy(self, vm: str) -> bool:
        """Whether a runner of a VM runs a job, and its program is alive."""
        return any(
            each.job_seconds and each.offline_from is None and vm_of(each.name) == vm
            for each in self.registrations.values()
        )

    def online(self) -> set[str]:
        return {vm_of(each.name) or "" for each in self.registrations.values() if self._shown(each).online}

    def alive(self) -> set[str]:
        """VMs whose runner's program runs, whatever GitHub shows."""
        connected = (each for each in self.registrations.values() if each.connected)
        return {vm_of(each.name) or "" for each in connected if each.offline_from is None}

    def forget(self, vm: str) -> bool:
        """The registration of a VM is lost, and nobody tells the VM."""
        lost = [number for number, each in self.registrations.items() if vm_of(each.name) == vm and each.connected]
        for number in lost:
            del self.registrations[number]
        return bool(lost)

    def _all(self) -> tuple[tuple[str, GitHubRunner], ...]:
        """Every runner, with the scope that it is registered with."""
        return tuple((each.scope, self._shown(each)) for each in self.registrations.values())

    def _shown(self, each: Registration) -> GitHubRunner:
        online = each.connected and (each.offline_from is None or each.offline_from > self._world.now)
        return GitHubRunner(id=each.id, name=each.name, online=online, busy=online and each.job_seconds > 0)

    def _of(self, jit: str) -> Registration:
        found = self.registrations.get(int(jit))
        if found is None:
            raise ControlError("the registration does not exist")
        return found

    def _answers(self) -> None:
        if self._world.is_down("github"):
            raise Refused(Reason.GITHUB_DOWN, "502")


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKeeper(BrokerApi):
    """A controller's way to GitHub: the decisions of the real broker, without HTTP and signatures."""

    world: World
    process: Process
    stack: str = "ci"
    address: Callable[[], str] = str
    token: Callable[[str], str] = str

    def _ask(self, verb: str, path: str, **query: str) -> Any:
        kind, _, number = path.partition("/")
        said = [("stack", self.stack), *query.items()]
        asked = controller_request(RequestKind.REMOVAL if number else RequestKind(kind), said, number)

        def do() -> Any:
            if number:
                self.world.promises.before_act(self.process)
            try:
                return self.world.keeper.run("controller", asked, AuditedRequest(event=asked.kind.value, asked=asked))
            except Refused as refused:
                raise GitHubError(f"the broker: {refused}") from None

        if number:
            return self.process.change(do)
        self.process.call()
        return do()
