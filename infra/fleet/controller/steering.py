"""What people and new versions ask of VMs that serve: to take no more jobs, and to run something else.

Owns which drains and orders follow, and what is said of them. Does not own the stages of a rollout (`rollout`) nor
limits (`limits`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from infra.fleet.controller import limits, rollout
from infra.fleet.controller.actions import Drain, FleetFinding, Proposal, Urgency, Waiting
from infra.fleet.controller.desired import DesiredSlot
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.keys import BackoffKey, OwnRule
from infra.fleet.controller.rollout_orders import ordered
from infra.fleet.controller.rules import Verdict
from infra.fleet.versions import Rollout
from infra.model import freezes

_FORGOTTEN: Final = timedelta(days=1)
"""After so long a drain without a job is a finding: nobody may remember it."""


def steer(judge: Judge) -> Steered:
    """Everything that is asked of VMs in one sweep."""
    steered = Steered(judge=judge)
    steered.drains()
    steered.roll()
    return steered


def home_is_short(judge: Judge, slot: DesiredSlot) -> bool:
    """Whether a slot's VM could not be made at home now, as where a stuck one stands, or nobody could see it there."""
    zone, own = slot.home.zone, judge.fleet.slots[slot.name]
    if any(node.zone == zone and node is not own for node in judge.observed.nodes_of(slot.name)):
        return True
    home = BackoffKey(zone, slot.accelerator.name, slot.home.capacity)
    return home in judge.memory.backoff or zone in judge.observed.requests.lost or not judge.observed.zone_known(zone)


@dataclass(slots=True, kw_only=True)
class Steered:
    """What is gathered. rollouts: of every pool, after this sweep's step."""

    judge: Judge
    proposals: list[Proposal] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    findings: list[FleetFinding] = field(default_factory=list)
    rollouts: dict[str, Rollout] = field(default_factory=dict)

    def drains(self) -> None:
        """Orders follow what people ask for; what nobody asks for any more ends, unless the VM is on its way home.

        Where nobody can say what people ask for, only a drain ends that no person asked for.
        """
        judge = self.judge
        known = judge.observed.requests_source.known
        for slot in judge.desired.slots:
            vm = judge.memory.vms[slot.name]
            drained = vm.drained
            if not known and not vm.own_drain:
                continue
            request = next(
                (each for each in judge.observed.requests.drains if each.subject in (slot.name, slot.pool)), None
            )
            if request is not None and (drained is None or vm.own_drain):
                self._order(slot, OwnRule.DRAIN_REQUESTED, f"{request.by} drains {request.subject}", on=True)
            elif request is None and drained is not None and not self._leaves(slot):
                self._order(slot, OwnRule.DRAIN_OVER, "its drain has ended", on=False)
            if request is not None and drained is not None and judge.busy(slot.name):
                over = (judge.now - request.since).total_seconds() >= request.minutes * 60
                reason = f"its job runs on, {request.minutes} minutes after {request.by} drained {request.subject}"
                if over:
                    self._finds(slot.name, OwnRule.DRAIN_LATE, reason)
                else:
                    self.waiting.append(
                        Waiting(subject=slot.name, rule=OwnRule.DRAIN_REQUESTED, reason="its job is waited for")
                    )
            elif request is not None and drained is not None and judge.now - drained >= _FORGOTTEN:
                reason = f"{request.by} drained {request.subject} on {drained:%Y-%m-%d %H:%M}, and no job runs on it"
                self._finds(slot.name, OwnRule.DRAIN_FORGOTTEN, reason, costs=True)

    def _order(self, slot: DesiredSlot, rule: OwnRule, reason: str, *, on: bool) -> None:
        action = Drain(vm=slot.name, on=on, rule=rule, reason=reason)
        self.proposals.append(Proposal(action=action, pool=slot.pool, urgency=Urgency.CHANGE))

    def _finds(self, about: str, rule: OwnRule, reason: str, *, costs: bool = False) -> None:
        finding = FleetFinding(subject=about, rule=rule, reason=reason, since=self.judge.now, costs=costs)
        self.findings.append(finding)

    def _leaves(self, slot: DesiredSlot) -> bool:
        """Whether a VM was drained because it, or another of its name, is about to go."""
        node = self.judge.fleet.slots[slot.name]
        if any(orphan.name == slot.name for orphan in self.judge.fleet.orphans):
            return True
        if node is None or node.state != "READY" or not self.judge.away(slot, node) or home_is_short(self.judge, slot):
            return False
        judged = self.judge.slot(slot)
        return judged.rule.verdict is not Verdict.RETURN_HOME or judged.until is None

    def roll(self) -> None:
        """One step of every pool's rollout."""
        judge = self.judge
        self.rollouts = dict(judge.memory.rollouts)
        if not judge.observed.requests_source.known:
            self._rest()
            return
        if judge.observed.targets is None:
            return
        window = limits.frozen(judge.desired, judge.now)
        for pool in judge.desired.pools:
            target = judge.observed.targets.get(pool)
            if target is None or not any(slot.has_runner for slot in judge.desired.of_pool(pool)):
                continue  # without a runner nothing is ever proved
            paused = pool in judge.observed.requests.paused
            halted = "paused" if paused else f"freeze window {window}" if window else ""
            rolled = rollout.rolled(pool, judge, target, halted=halted)
            if rolled is None:
                continue
            self.rollouts[pool] = rolled.rollout
            self.proposals += [Proposal(action=each, pool=pool, urgency=Urgency.CHANGE) for each in rolled.assigns]
            if rolled.problem:
                self._finds(pool, OwnRule.ROLLOUT_FAILED, rolled.problem)
            if rolled.rollout.stage.is_under_way or rolled.rollout.returning:
                self.waiting.append(self._rolling(pool, rolled.rollout, window, paused=paused))

    def _rest(self) -> None:
        """Nobody can say what people paused: no rollout goes on, and a VM that moved gets the image of its region."""
        judge = self.judge
        for pool in self.rollouts.keys() & set(judge.desired.pools):
            self.rollouts[pool], assigns = ordered(self.rollouts[pool], judge.desired.of_pool(pool), judge)
            orders = [each for each in assigns if not each.first]
            self.proposals += [Proposal(action=each, pool=pool, urgency=Urgency.CHANGE) for each in orders]

    def _rolling(self, pool: str, rollout: Rollout, window: str, *, paused: bool) -> Waiting:
        """A rollout that is paused or frozen stands once no VM is waited for: until then it may still go back."""
        now, vms = self.judge.now, len(self.judge.desired.of_pool(pool))
        thaw = freezes.thaws(self.judge.desired.freezes, now) if window and not paused else None
        said = [f"{rollout.stage}, {len(rollout.proved)} of {vms} VMs proved"] if rollout.stage.is_under_way else []
        said += [f"{len(rollout.returning)} VMs go back to what was proved"] if rollout.returning else []
        return Waiting(
            subject=pool,
            rule=OwnRule.ROLLOUT,
            reason="; ".join((*said, *rollout.held)),
            until=thaw,
            stands=not (rollout.waiting or rollout.returning)
            and (paused or (thaw is not None and limits.is_far(thaw, now))),
        )
