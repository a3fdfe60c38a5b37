"""A small pure fleet for the controller to act on: nodes, guests, runners, shortages, lists that lag, crashes.

It checks after every step what must hold in each world, whatever the controller believes. Time is virtual.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from infra.fleet.controller import memory as memories
from infra.fleet.controller.actions import (
    Action,
    Assign,
    Create,
    Decision,
    Delete,
    Drain,
    Recreate,
    RemoveRunner,
    Report,
    Restart,
)
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired, SlotPlace
from infra.fleet.controller.events import Result
from infra.fleet.controller.keys import NodeKey
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import KNOWN, CreateEnded, NodeSeen, Observed, RunnerSeen, Trouble, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.controller.rules import DEAD, GIVEN_BACK
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.versions import PoolVersion
from infra.model.catalogue import AcceleratorType
from tests.fleet.controller.given_fleet import AWAY, HOME, START, SWEEP, labels, minutes

BAD = "registry@sha256:bad"
ELSEWHERE = ("stranger-0", "tpu-ci-other-lab-0")


@dataclass
class Vm:
    """A node and the guest on it. serves_at: when its runner comes online; None for a guest that never registers."""

    seen: NodeSeen
    serves_at: datetime | None
    job_until: datetime | None = None
    image: str | None = None
    obeyed: int = 0
    drained: bool = False
    registration: int = 0
    online: bool = False

    @property
    def alive(self) -> bool:
        return self.seen.state not in DEAD

    @property
    def busy(self) -> bool:
        return self.online and self.job_until is not None


@dataclass
class World:
    """faults: whether anything still goes wrong. Everything random is drawn from `dice` alone."""

    desired: Desired
    dice: Random
    now: datetime = START
    memory: Memory = memories.EMPTY
    vms: dict[NodeKey, Vm] = field(default_factory=dict)
    ghosts: dict[int, RunnerSeen] = field(default_factory=dict)
    creating: dict[str, tuple[str, datetime, Trouble | None]] = field(default_factory=dict)
    orders: dict[str, dict[str, object]] = field(default_factory=lambda: defaultdict(dict))
    stockout: dict[str, datetime] = field(default_factory=dict)
    last_list: dict[str, tuple[NodeSeen, ...]] = field(default_factory=dict)
    targets: dict[str, PoolVersion] = field(default_factory=dict)
    replaced: dict[str, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    log: list[str] = field(default_factory=list)
    numbers: int = 100
    faults: bool = True

    def populate(self) -> None:
        """Every declared VM, serving; two nodes that are not ours; a runner that is not ours."""
        for slot in self.desired.slots:
            self._make(slot.name, slot.home)
            self.vms[NodeKey(slot.home.zone, slot.name)].serves_at = self.now
        for name in ELSEWHERE:
            foreign = {"tidepool-managed": "true", "tidepool-stack": "other"} if name != "stranger-0" else {}
            self.add(name, foreign)
        self.ghosts[1] = RunnerSeen(id=1, name="big-mac-0a1b2c", scope="orgs/a-lab", online=False, busy=False)
        self._guests()

    def add(self, name: str, with_labels: dict[str, str], zone: str = HOME, accelerator: str = "v6e-1") -> None:
        from infra.model.catalogue import CapacityKind

        seen = NodeSeen(
            name=name,
            zone=zone,
            state="READY",
            accelerator=accelerator,
            capacity=CapacityKind.PREEMPTIBLE,
            created=self.now.isoformat(),
            labels=with_labels,
        )
        self.vms[seen.key] = Vm(seen=seen, serves_at=None)

    # What goes wrong.

    def misfortune(self) -> None:
        ours = [vm for vm in self.vms.values() if vm.seen.labels.get("tidepool-stack") == "ci"]
        serving = [vm for vm in ours if vm.online]
        roll = self.dice.random()
        if roll < 0.10 and ours:
            self._state(self.dice.choice(ours), "PREEMPTED")
        elif roll < 0.13 and ours:
            state = self.dice.choice(["TERMINATED", "STOPPED", "REPAIRING", "UNKNOWN", "RESTARTING"])
            self._state(self.dice.choice(ours), state)
        elif roll < 0.16 and serving:
            vm = self.dice.choice(serving)
            vm.online, vm.serves_at = False, None
            self._tell(f"{vm.seen.name} loses its registration for good")
        elif roll < 0.19:
            zone = self.dice.choice([HOME, AWAY])
            self.stockout[zone] = self.now + minutes(self.dice.choice([20, 60, 180]))
            self._tell(f"no capacity in {zone}")
        elif roll < 0.21:
            self.add(f"tpu-ci-{HOME}-{self.dice.randrange(20, 40)}", labels(), accelerator="v6e-1")
            self._tell("an orphan")
        elif roll < 0.23:
            run = {"tidepool-run": "5-1", "tidepool-expires": str(int((self.now + minutes(30)).timestamp()))}
            self.add(f"run-{self._number()}", run)
        elif roll < 0.25:
            number = self._number()
            name = f"tpu-ci-{HOME}-{self.dice.randrange(40)}-{number:06x}"
            self.ghosts[number] = RunnerSeen(id=number, name=name, scope="orgs/a-lab", online=False, busy=False)
        elif roll < 0.27 and "tpu-ci" in self.memory.rollouts:
            image = self.dice.choice([BAD, f"registry@sha256:{self._number()}"])
            self.targets = {
                pool: PoolVersion(images={"us-west4": image, "us-central1": image}) for pool in self.targets
            }
            self._tell(f"promoted {image}")
        elif roll < 0.40:
            for vm in serving:
                if not vm.busy and not vm.drained and self.dice.random() < 0.5:
                    vm.job_until = self.now + minutes(self.dice.choice([4, 15, 60]))

    # One sweep of the controller.

    def sweep(self) -> Decision:
        self.now += SWEEP
        if self.faults:
            self.misfortune()
        self._guests()
        lost = self.dice.random() if self.faults else 1.0
        observed = self.observe()
        decision = decide(self.desired, observed, self.memory, self.now)
        written = memories.read(decision.memory.encoded("a"))
        assert written == decision.memory, "what is remembered survives its own document"
        if lost < 0.02:
            self._tell("the controller dies before it writes")
            return decision
        self.memory = written
        serving = self._serving()
        outcomes = []
        for action in decision.actions:
            if lost < 0.06 and self.dice.random() < 0.5:
                self._tell("the controller dies half-way")
                return decision
            outcomes.append(self._apply(action))
        self._check_serving(serving, decision)
        self.memory = learned(self.memory, self.desired, outcomes, self.now)
        return decision

    def observe(self) -> Observed:
        zones, seen = {}, []
        for zone in sorted(self.desired.zones | set(self.memory.zones)):
            truth = tuple(vm.seen for vm in self.vms.values() if vm.seen.zone == zone)
            roll = self.dice.random() if self.faults else 1.0
            if roll < 0.04:
                zones[zone] = unknown("no answer in time")
                continue
            listed = truth
            if roll < 0.07:
                listed = self.last_list.get(zone, truth)
            elif roll < 0.08:
                listed = ()
            zones[zone] = KNOWN
            seen += listed
            self.last_list[zone] = truth
        github = unknown("502") if self.faults and self.dice.random() < 0.05 else KNOWN
        ended = []
        for slot, (zone, at, trouble) in list(self.creating.items()):
            if self.now - at >= minutes(1):
                ended.append(CreateEnded(slot=slot, zone=zone, trouble=trouble, text="the operation"))
                del self.creating[slot]
        return Observed(
            zones=zones,
            nodes=tuple(seen),
            github=github,
            runners=self._runners() if github.known else (),
            reports={vm.seen.name: self._report(vm) for vm in self.vms.values() if vm.alive},
            ended=tuple(ended),
            targets=self.targets or None,
        )

    # What must hold.

    def check(self) -> None:
        alive = Counter(vm.seen.name for vm in self.vms.values() if vm.alive)
        for slot in self.desired.slots:
            assert alive[slot.name] <= 1, f"two VMs for {slot.name}\n{self.told()}"
        for cap in self.desired.caps:
            used = sum(
                AcceleratorType.parse(vm.seen.accelerator).chips
                for vm in self.vms.values()
                if vm.seen.zone == cap.zone
                and vm.alive
                and AcceleratorType.parse(vm.seen.accelerator).generation.name == cap.generation
                and vm.seen.capacity in cap.covers
            )
            assert used + cap.held_elsewhere <= cap.chips, f"{used} chips of {cap.name}\n{self.told()}"
        for name in ELSEWHERE:
            assert NodeKey(HOME, name) in self.vms, f"{name} was touched\n{self.told()}"
        assert 1 in self.ghosts, f"a foreign runner was removed\n{self.told()}"
        for pool, times in self.replaced.items():
            within = [at for at in times if self.now - at < timedelta(hours=1)]
            assert len(within) <= self.desired.settings.replacements, f"{pool}: {within}\n{self.told()}"

    @property
    def declared(self) -> bool:
        """Whether the fleet is what it shall be, and nothing is left over."""
        serving = {vm.seen.name for vm in self.vms.values() if vm.online and vm.seen.state == "READY"}
        names = {slot.name for slot in self.desired.slots}
        left = [vm for vm in self.vms.values() if vm.seen.name not in names and vm.seen.name not in ELSEWHERE]
        return names <= serving and not left and set(self.ghosts) == {1}

    def told(self) -> str:
        return "\n".join(self.log[-60:])

    # How the world answers.

    def _apply(self, action: Action) -> ActionOutcome:
        if not isinstance(action, Assign):
            about = "".join(str(getattr(action, each, "")) for each in ("slot", "vm", "name", "subject"))
            zone = getattr(getattr(action, "place", None), "zone", "")
            self._tell(f"{type(action).__name__} {about} {zone}: {action.reason}")
        match action:
            case Create():
                return self._create(action, action.slot, action.place)
            case Recreate():
                if not self._delete(action.node):
                    return ActionOutcome(action=action, result=Result.CHANGED)
                pool = next(slot.pool for slot in self.desired.slots if slot.name == action.slot)
                if action.node.state not in GIVEN_BACK:
                    self.replaced[pool].append(self.now)
                if action.place is None:
                    return ActionOutcome(action=action, result=Result.DONE)
                if self.dice.random() < 0.2:
                    return ActionOutcome(action=action, result=Result.DEFERRED, text="the delete takes long")
                return self._create(action, action.slot, action.place)
            case Delete():
                self._may_delete(action.node)
                self._delete(action.node)
            case RemoveRunner():
                assert not any(each.id == action.id and each.online for each in self._runners()), self.told()
                self.ghosts.pop(action.id, None)
            case Restart() | Assign() | Drain() if self.faults and self.dice.random() < 0.05:
                return ActionOutcome(action=action, result=Result.FAILED, text="the bucket did not answer")
            case Restart():
                self.orders[action.vm]["restart"] = action.number
            case Assign():
                self.orders[action.vm]["image"] = action.image
            case Drain():
                self.orders[action.vm]["drain"] = action.on
            case Report():
                pass
        return ActionOutcome(action=action, result=Result.DONE)

    def _create(self, action: Action, name: str, place: SlotPlace) -> ActionOutcome:
        """As `act` does it: the slot's other places are asked for it by name first, since lists lie."""
        if any(vm.seen.name == name and vm.alive and vm.seen.zone != place.zone for vm in self.vms.values()):
            return ActionOutcome(action=action, result=Result.CHANGED, text="it is elsewhere")
        if NodeKey(place.zone, name) in self.vms:
            return ActionOutcome(action=action, result=Result.DONE, text="it exists")
        if self.stockout.get(place.zone, self.now) > self.now:
            if self.dice.random() < 0.5:
                return ActionOutcome(
                    action=action, result=Result.FAILED, trouble=Trouble.STOCKOUT, text="no more capacity"
                )
            self.creating[name] = (place.zone, self.now, Trouble.STOCKOUT)
            return ActionOutcome(action=action, result=Result.DONE, operation="op")
        self.creating[name] = (place.zone, self.now, None)
        self._make(name, place)
        self.check()
        return ActionOutcome(action=action, result=Result.DONE, operation="op")

    def _make(self, name: str, place: SlotPlace) -> None:
        slot = next(slot for slot in self.desired.slots if slot.name == name)
        seen = NodeSeen(
            name=name,
            zone=place.zone,
            state="CREATING",
            accelerator=slot.accelerator.name,
            capacity=place.capacity,
            created=self.now.isoformat(),
            labels=labels(slot.pool),
        )
        boots = self.now + minutes(self.dice.choice([4, 8, 14]))
        never = self.faults and self.dice.random() < 0.05
        self.vms[seen.key] = Vm(seen=seen, serves_at=None if never else boots)

    def _delete(self, node: NodeSeen) -> bool:
        """As `act` does it: only what still is as it was seen."""
        vm = self.vms.get(node.key)
        if vm is None:
            return True
        if (vm.seen.created, vm.seen.state) != (node.created, node.state):
            return False
        assert not (vm.busy and vm.alive), f"{node.name} was deleted while it was busy\n{self.told()}"
        del self.vms[node.key]
        return True

    def _may_delete(self, node: NodeSeen) -> None:
        ours = node.labels.get("tidepool-stack") == "ci"
        expired = int(node.labels.get("tidepool-expires", "99999999999")) <= self.now.timestamp()
        assert ours or expired, f"{node.name} is not ours to delete\n{self.told()}"

    def _guests(self) -> None:
        for vm in self.vms.values():
            if vm.seen.state == "CREATING":
                self._state(vm, "READY")
            elif vm.seen.state in ("REPAIRING", "RESTARTING") and self.dice.random() < 0.05:
                self._state(vm, "READY")
                vm.serves_at = self.now + minutes(4)
            if vm.job_until is not None and vm.job_until <= self.now:
                vm.job_until = None
            orders = self.orders[vm.seen.name]
            vm.drained = bool(orders.get("drain"))
            if vm.busy or vm.seen.state != "READY":
                continue
            if orders.get("restart", 0) != vm.obeyed and vm.serves_at is not None:
                vm.obeyed = int(str(orders["restart"]))
            if vm.serves_at is not None and vm.image != orders.get("image"):
                vm.image = str(orders["image"])
                vm.online, vm.serves_at = False, max(vm.serves_at, self.now + minutes(2))
            comes = vm.serves_at is not None and vm.serves_at <= self.now and not vm.drained and vm.image != BAD
            if comes and not vm.online:
                vm.registration = self._number()
            vm.online = comes

    def _runners(self) -> tuple[RunnerSeen, ...]:
        ours = [
            RunnerSeen(
                id=vm.registration,
                name=f"{vm.seen.name}-{vm.registration:06x}",
                scope="orgs/a-lab",
                online=vm.online and vm.alive,
                busy=vm.busy,
            )
            for vm in self.vms.values()
            if vm.registration and vm.online
        ]
        return (*ours, *self.ghosts.values())

    def _report(self, vm: Vm) -> ReportSeen:
        phase = Phase.BUSY if vm.busy else Phase.IDLE if vm.online else Phase.BOOTING
        return ReportSeen(
            vm=vm.seen.name,
            pool="tpu-ci",
            phase=phase,
            at=self.now,
            image=vm.image,
            obeyed=vm.obeyed,
        )

    def _state(self, vm: Vm, state: str) -> None:
        if vm.seen.state in DEAD:
            return
        self._tell(f"{vm.seen.name}: {vm.seen.state} -> {state}")
        vm.seen = replace(vm.seen, state=state)
        if state != "READY":
            if vm.registration and vm.online:
                self.ghosts[vm.registration] = RunnerSeen(
                    id=vm.registration,
                    name=f"{vm.seen.name}-{vm.registration:06x}",
                    scope="orgs/a-lab",
                    online=False,
                    busy=False,
                )
            vm.online, vm.job_until, vm.image = False, None, None

    def _serving(self) -> dict[str, set[str]]:
        serving: dict[str, set[str]] = defaultdict(set)
        for vm in self.vms.values():
            if vm.online and not vm.drained and vm.seen.labels.get("tidepool-pool"):
                serving[vm.seen.labels["tidepool-pool"]].add(vm.seen.name)
        return serving

    def _check_serving(self, before: dict[str, set[str]], decision: Decision) -> None:
        gone = set()
        for action in decision.actions:
            match action:
                case Drain(on=True):
                    gone.add(action.vm)
                case Delete() | Recreate():
                    gone.add(action.node.name)
        for pool, vms in before.items():
            assert len(vms) < 2 or vms - gone, f"every runner of {pool} was taken at once\n{self.told()}"

    def _number(self) -> int:
        self.numbers += 1
        return self.numbers

    def _tell(self, what: str) -> None:
        self.log.append(f"{self.now:%H:%M} {what}")
