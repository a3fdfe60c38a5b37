"""A pool that lives through decisions: its VMs obey their orders by the next sweep, unless they have a job."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from infra.fleet.controller.actions import Assign, Decision
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observed import KNOWN, RunnerSeen, unknown
from infra.fleet.operator_requests import OperatorRequests, Undone
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.versions import AssignedVersion, PoolVersion, Rollout
from infra.fleet.versions import taken_back as part_or_whole
from tests.fleet.controller.given_fleet import START, fleet, minutes, nodes, remembered, runner, seen

POOL = "tpu-ci"


def target(digest: str, bundle: str = "") -> PoolVersion:
    """An image of which the last letter tells, empty for none, and a bundle."""
    regions = ("us-west4", "us-central1")
    return PoolVersion(images=dict.fromkeys(regions, f"r@sha256:{digest}") if digest else {}, bundle=bundle or None)


def taken_back(*parts: str, over: bool = False) -> OperatorRequests:
    return OperatorRequests(undone={POOL: tuple(Undone(part_or_whole(part), START, over=over) for part in parts)})


@dataclass
class Pool:
    """target: what is promoted and published. runs: what each VM runs. told: what its orders say.

    bad: images and bundles with which a VM is not online; unfit: what it says then. slow: VMs that take their time.
    gone: a VM that is not there. hung: by VM that serves nobody, the phase that it says, None where it says nothing.
    dark: zones that cannot be asked. deaf: whether GitHub cannot. locked: whether orders cannot be read. real: whether
    a VM without an image serves nobody, as on Google Cloud. wrote: when VMs wrote their reports, None for just now.
    """

    desired: Desired
    target: PoolVersion
    now: datetime = START
    memory: Memory = EMPTY
    runs: dict[str, tuple[str, str]] = field(default_factory=dict)
    told: dict[str, tuple[str, str]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    bad: str = ""
    gone: str = ""
    hung: dict[str, Phase | None] = field(default_factory=dict)
    unfit: str = ""
    dark: tuple[str, ...] = ()
    deaf: bool = False
    locked: bool = False
    real: bool = False
    wrote: datetime | None = None
    requests: OperatorRequests = field(default_factory=OperatorRequests)

    def sweep(self) -> list[str]:
        """Indices of VMs that were told something, with the last letters of the image and of the bundle."""
        decision = self.decided()
        self.memory = remembered(decision, self.desired, self.now)
        told = {a.vm: (a.image or "", a.bundle or "") for a in decision.actions if isinstance(a, Assign)}
        self.told |= told
        self.runs |= {vm: each for vm, each in self.told.items() if vm not in self.busy}
        self.now += minutes(2)
        return [f"{vm[-1]}:{(image or '-')[-1]}{bundle[-1:]}" for vm, (image, bundle) in told.items()]

    def sweeps(self, count: int) -> list[list[str]]:
        return [self.sweep() for _ in range(count)]

    def decided(self) -> Decision:
        names = [slot.name for slot in self.desired.slots if slot.name != self.gone]
        online = [name for name in names if self.serves(name)]
        runners: tuple[RunnerSeen, ...] = tuple(runner(name, busy=name in self.busy) for name in online)
        listed = tuple(node for node in nodes(self.desired) if node.name != self.gone and node.zone not in self.dark)
        observed = replace(
            seen(self.desired, nodes=listed),
            zones={zone: unknown("503") if zone in self.dark else KNOWN for zone in sorted(self.desired.zones)},
            github=unknown("502") if self.deaf else KNOWN,
            runners=() if self.deaf else runners,
            reports={name: self._report(name, online) for name in names if self.hung.get(name, True)},
            targets={POOL: self.target},
            told={} if self.locked else {vm: AssignedVersion(*each) for vm, each in self.told.items()},
            told_source=unknown("503") if self.locked else KNOWN,
            requests=self.requests,
        )
        return decide(self.desired, observed, self.memory, self.now)

    def serves(self, name: str) -> bool:
        image, bundle = self.runs.get(name, ("", ""))
        broken = any(letter in (image[-1:], bundle[-1:]) for letter in self.bad)
        return name not in self.slow and name not in self.hung and not broken and not (self.real and not image)

    def _report(self, name: str, online: list[str]) -> ReportSeen:
        image, bundle = self.runs.get(name, ("", ""))
        return ReportSeen(
            vm=name,
            pool=POOL,
            phase=Phase.IDLE if name in online else Phase.UNFIT if self.unfit else self.hung.get(name) or Phase.PULLING,
            at=self.wrote or self.now,
            reason="" if name in online else self.unfit,
            image=image or None,
            bundle=bundle or None,
        )

    @property
    def rollout(self) -> Rollout:
        return self.memory.rollouts[POOL]

    @property
    def stage(self) -> str:
        return self.rollout.stage

    @property
    def images(self) -> str:
        """The last letter of what each VM runs, in the order of the slots."""
        return "".join((self.runs.get(slot.name, ("", ""))[0] or "-")[-1] for slot in self.desired.slots)

    def vm(self, index: int) -> str:
        return self.desired.slots[index].name


def steady(count: int = 6, first: PoolVersion | None = None, **given: object) -> Pool:
    """A pool that runs this from the start."""
    pool = Pool(desired=fleet(count, **given), target=first or target("a"))
    pool.sweep()
    return pool


def rolled_out(digest: str, count: int = 6) -> Pool:
    pool = steady(count)
    pool.target = target(digest)
    pool.sweeps(8)
    assert pool.images == digest * count
    return pool
