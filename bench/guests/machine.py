"""The machine of a guest: carries out what the supervisor's decisions ask for, on a VM that is only a record.

Different from a VM: work on the machine (cleaning, pulling) takes no time but in a boot, a registration that was lost
ends no runner, and the other hosts of a slice are there at once. How long a boot takes is said here, stage by stage;
which stages there are is the supervisor's.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final

from bench.cloud.control import ControlError
from bench.guests.disk import Disk
from bench.guests.surroundings import Endpoints, UnreadableError, Vm
from infra.fleet.runner.supervisor import effects as e
from infra.fleet.runner.supervisor import orders, rounds
from infra.fleet.runner.supervisor.boot import STAGES

STAGE_SECONDS: Final = dict(zip(STAGES, (10.0, 2.0, 25.0, 1.0, 90.0, 1.0), strict=True))
"""By stage, the realistic seconds of the first boot; a model, not a measurement."""
_AGAIN: Final = 0.05
"""What a step takes where its work is done already, as a part of the first time."""

RESTARTS: Final = 15.0
"""Seconds until systemd starts again what ended: RestartSec of tidepool-supervisor.service."""

STUB_ASKS: Final = 60.0
"""Seconds until the stub looks again for a bundle; on a VM 15, which nobody outside can tell apart."""

BREAKS: Final = "steps/install-docker"
"""The step at which a boot fails with a bundle that a fault breaks."""

UNFIT: Final = "the TPU stays busy: /dev/vfio/0 did not open within 30 s"
"""What a guest says that a fault makes unfit, where the fault has no message."""

_A_KEY: Final = f"ssh-ed25519 {'A' * 68}"
_BROKER: Final = "https://the.broker.of.the.stack"
"""In a start-up record, where the broker is whichever the local cloud has."""
_DISK_MB: Final = 100_000
_PREPARED: Final = e.Prepared(
    memory_mb=190_000, devices=(), tpu_env="", cache=False, runner=False, uv_cache="", job="", slice_folder="",
    hosts_command="",
)  # fmt: skip


class HangsError(Exception):
    """What was asked for is never answered."""


class GuestMachine:
    """at: cloud time of what is being done. faults: whether there are any at all.

    news: whether a report is due. boots: the bundle with which to boot, None where that is not asked for. step_seconds:
        of the whole boot that is under way.
    """

    def __init__(self, vm: Vm, disk: Disk, around: Endpoints, *, at: float, faults: bool) -> None:
        self._vm, self._disk, self._around, self._faults = vm, disk, around, faults
        self.at = at
        self.host = e.Host(
            stack=vm.stack,
            pool=vm.pool,
            region=vm.region,
            vm=vm.id,
            machine=vm.machine,
            worker=0,
            addresses=tuple(f"host-{number}" for number in range(vm.hosts)),
        )
        self.news = False
        self.boots: str | None = None
        self.step_seconds: float = 0.0

    def carry_out(self, steps: e.Steps[Any]) -> Any:
        """Until a decision is through. Raises HangsError where it never is."""
        return e.carried_out(steps, self._performed)

    def struck(self, kind: str, running: str = "") -> dict[str, Any] | None:
        return self._around.control.strike_guest(self._vm.name, kind, running) if self._faults else None

    def say(self, text: str) -> str:
        """A line as GitHub's runner prints it."""
        return f"{time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(self.at))}: {text}"

    def _performed(self, effect: e.Effect) -> Any:
        match effect:
            case e.WriteReport():
                self.news = True
            case e.Read():
                return self._read(effect.name)
            case e.Register():
                return self._register()
            case e.RunStep():
                return self._step(effect.name)
            case e.RunSteps():
                return self._stage(effect.steps)
            case e.FreeDisk():
                return _DISK_MB
            case e.ReadSkew():
                return 0
            case e.PrepareJob():
                return _PREPARED
            case e.RunContainer():
                self._run(effect.jit)
            case e.StopContainer():
                end_runner(self._around, self._disk)
            case e.FetchBundle():
                return None if self.has_bundle(effect.sha256) else e.Failed("cannot be read")
            case e.StartOver():
                self.boots = effect.bundle
            case e.Sleep():
                self.at += effect.seconds
            case e.MakeKey():
                return _A_KEY
            case e.Answers():
                return True
        return None

    def document(self, name: str) -> Any:
        """Raises UnreadableError."""
        return self._around.document(self._vm, name)

    def has_bundle(self, sha256: str) -> bool:
        with suppress(UnreadableError):
            return self._around.has_bundle(self._vm, sha256)
        return False

    def _read(self, name: str) -> Any:
        if any(name == rounds.slice_object(self.host, number) for number in range(1, self._vm.hosts)):
            return {"round": self._disk.state.round, "phase": "joined", "host_key": _A_KEY}
        try:
            document = self.document(name)
        except UnreadableError as error:
            return e.Failed(str(error))
        return {**document, "broker": _BROKER} if name == orders.STARTUP and document else document

    def _register(self) -> e.Answer | e.Failed:
        if self._disk.mute:
            raise HangsError
        answer = self._around.register(self._vm)
        # From when it answered, as the broker counts, and not from when this look began.
        self.at = max(self.at, self._around.control.clock()["seconds"])
        return answer

    def _step(self, name: str) -> e.Failed | None:
        disk = self._disk
        if name == "machine/clean-tpu":
            if not disk.spoiled and (fault := self.struck("unfit")):
                disk.spoiled = fault["message"] or UNFIT
            return e.Failed(disk.spoiled) if disk.spoiled else None
        if name == BREAKS and (fault := self.struck("broken", disk.starting)):
            return e.Failed(fault["message"])
        return None

    def _stage(self, steps: tuple[e.RunStep, ...]) -> tuple[e.Ended, ...]:
        """A stage of a boot takes its time, whatever there is to do."""
        stage = next(each for each in STAGES if PurePosixPath(steps[0].name).name in each)
        seconds = self.step_seconds * STAGE_SECONDS[stage] / sum(STAGE_SECONDS.values())
        self.at += seconds
        return tuple(e.Ended(seconds, self._step(step.name)) for step in steps)

    def _run(self, jit: str) -> None:
        """A runner that cannot even begin leaves none behind."""
        self._disk.jit = jit
        begun = not self.struck("broken", self._disk.state.image)
        if begun:
            try:
                self._around.control.connect(jit)
            except ControlError:
                begun = False
        if not begun:
            end_runner(self._around, self._disk)


def end_runner(around: Endpoints, disk: Disk) -> None:
    """The program of a runner stops without a word; GitHub sees it go offline."""
    if disk.jit:
        # There may be no registration any more.
        with suppress(ControlError):
            around.control.disconnect(disk.jit)
    disk.forget_runner()


def boot_seconds(life: str, *, first: bool) -> float:
    """Realistic seconds of a boot; the place within a fifth more or less belongs to the life."""
    # The spread of a model, not of a secret.
    spread = random.Random(f"boot {life}").uniform(0.8, 1.2)  # noqa: S311
    return sum(STAGE_SECONDS.values()) * spread * (1.0 if first else _AGAIN)
