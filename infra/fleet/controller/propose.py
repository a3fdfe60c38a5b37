"""What the verdicts of one sweep ask for, before any limit is asked, and what is only waited for or told.

Owns how a verdict becomes an action. Does not own verdicts (`judge`), limits (`limits`) nor what people and new
versions ask for (`steering`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from infra.fleet.controller import limits
from infra.fleet.controller.actions import (
    Create,
    Delete,
    Drain,
    FleetFinding,
    Proposal,
    Recreate,
    RemoveRunner,
    Restart,
    Urgency,
    Waiting,
)
from infra.fleet.controller.creates import exhausted, fruitless
from infra.fleet.controller.desired import DesiredSlot, SlotPlace
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.keys import BackoffKey, OwnRule, SourceKind, SourceName
from infra.fleet.controller.memory import Backoff, Memory
from infra.fleet.controller.observed import NodeSeen, Trouble
from infra.fleet.controller.placing import NoPlace, Placing, Room
from infra.fleet.controller.rules import DEAD, GIVEN_BACK, Judgement, Situation, Subject, Verdict, remakes
from infra.fleet.controller.sorting import pool_of
from infra.fleet.controller.steering import home_is_short, steer
from infra.fleet.versions import Rollout
from infra.model import bucket_names

_BY_SILENCE: Final = frozenset({"slot-unserved", "slot-restarted", "orphan-idle", "window-idle"})
"""Rules that fit a VM which says nothing that is against it."""

_FOR_PEOPLE: Final = {
    Trouble.QUOTA: OwnRule.CREATE_QUOTA,
    Trouble.REFUSED: OwnRule.CREATE_REFUSED,
    Trouble.UNSERVED: OwnRule.CREATE_FRUITLESS,
}
_SERVES: Final = frozenset({Situation.SERVING, Situation.SERVING_AWAY})


@dataclass(slots=True, kw_only=True)
class Proposals:
    """What is gathered while one sweep judges.

    dead: slots that look lost; to_delete: orphans that would go; what Google took back is in neither, nor what goes
    because its window is over.
    """

    judge: Judge
    proposals: list[Proposal] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    findings: list[FleetFinding] = field(default_factory=list)
    unhealthy: dict[str, Judgement] = field(default_factory=dict)
    booting: dict[str, Judgement] = field(default_factory=dict)
    rollouts: dict[str, Rollout] = field(default_factory=dict)
    dead: int = 0
    to_delete: int = 0

    def judge_everything(self) -> None:
        judge, fleet = self.judge, self.judge.fleet
        judged = [(slot, judge.slot(slot)) for slot in judge.desired.slots]
        self.judge = judge = replace(judge, memory=self._with_fruitless(judged))
        self._slots(judged)
        for node in fleet.orphans:
            self._orphan(node, judge.orphan(node))
        for node in fleet.run_vms:
            self._run_vm(node, judge.run_vm(node))
        for node in fleet.strangers:
            self._told(judge.stranger(node))
        self._runners()
        steered = steer(judge)
        self.proposals += steered.proposals
        self.waiting += steered.waiting
        self.findings += steered.findings
        self.rollouts = steered.rollouts
        self._troubles()

    def _with_fruitless(self, judged: list[tuple[DesiredSlot, Judgement]]) -> Memory:
        """What is remembered, with the creates whose VMs never came to serve in their time.

        A VM that calls itself unfit is none of them: its place let it boot and report.
        """
        desired, memory, now = self.judge.desired, self.judge.memory, self.judge.now
        for slot, each in judged:
            node, known = self.judge.fleet.slots[slot.name], memory.vms[slot.name]
            if node is None or each.verdict is not Verdict.RECREATE or each.rule.when is Situation.UNFIT:
                continue
            place, asked = slot.place_in(node.zone), known.tried.get(node.zone)
            if slot.has_runner and known.attempts and place and asked and node.state not in GIVEN_BACK:
                memory = fruitless(
                    memory, desired, slot.name, place, asked, f"no VM served in time: {each.reason}", now
                )
        return memory

    def _slots(self, judged: list[tuple[DesiredSlot, Judgement]]) -> None:
        judge = self.judge
        room = Room(judge.desired, judge.fleet, judge.memory)
        placing = Placing.of(room, judge.absence)
        for slot, each in sorted(judged, key=lambda pair: (judge.memory.vms[pair[0].name].attempts, pair[0].name)):
            if each.verdict is not Verdict.KEEP and each.rule.when not in _SERVES:
                (self.booting if judge.boots(slot, each) else self.unhealthy)[slot.name] = each
            if self._waits_for_its_report(slot.name, each):
                continue
            match each.verdict:
                case Verdict.RECREATE:
                    self._recreate(slot, each, placing)
                case Verdict.CREATE:
                    self._create(slot, each, placing)
                case Verdict.MOVE:
                    self._move(slot, each, placing)
                case Verdict.RESTART:
                    number = judge.memory.vms[slot.name].restart + 1
                    action = Restart(vm=slot.name, number=number, rule=each.rule.id, reason=each.reason)
                    self.proposals.append(Proposal(action=action, pool=slot.pool, urgency=Urgency.HEAL))
                case Verdict.RETURN_HOME:
                    self._return_home(slot, each)
                case Verdict.REPORT:
                    self._told(each)
                case Verdict.WAIT:
                    self._wait(each)
                case Verdict.KEEP if each.rule.when is Situation.IMAGELESS:
                    self._finds(slot.pool, each.rule.id, each.reason)
                case _:
                    pass

    def _recreate(self, slot: DesiredSlot, judged: Judgement, placing: Placing) -> None:
        node = self._node(slot)
        may_live = node.state not in GIVEN_BACK
        self.dead += may_live
        if node.state not in DEAD and self.judge.busy(slot.name):
            self._wait(judged, "its runner has a job")
            return
        if node.state not in DEAD and not self.judge.heard(node, slot.pool):
            self._wait(judged, "GitHub does not say whether it runs a job")
            return
        if self.judge.observed.engine:
            self._wait(judged, self.judge.observed.engine)
            return
        if may_live and self._is_remade_too_soon(slot, judged):
            return
        if self._waits_for_requests(judged):
            return
        place = placing.place(slot, only_zone=node.zone)
        if node.state == "READY" and isinstance(place, NoPlace) and place.until:
            self._waits(judged, f"{judged.reason}; {place.why}", place.until, stands=place.stands)
            return
        action = Recreate(
            slot=slot.name,
            node=node,
            place=place if isinstance(place, SlotPlace) else None,
            passed=self.judge.absence.passed(slot),
            stuck=self.judge.absence.stuck(slot),
            rule=judged.rule.id,
            reason=judged.reason,
        )
        self.proposals.append(
            Proposal(
                action=action,
                pool=slot.pool,
                deletes=may_live,
                replaces=may_live,
                freeze=judged.rule.freeze,
                urgency=Urgency.HEAL,
            )
        )

    def _is_remade_too_soon(self, slot: DesiredSlot, judged: Judgement) -> bool:
        """Whether it was replaced before, never served since, and is to wait. After some times people are told."""
        known = self.judge.memory.vms[slot.name]
        if known.remade_at is None:
            return False
        again = f"replaced {known.remade} times, and it never served for an hour"
        if known.remade >= remakes().told_after:
            self._finds(slot.name, OwnRule.SLOT_REMADE, f"{judged.reason}; {again}", costs=True)
        until = known.remade_at + remakes().wait(known.remade)
        if self.judge.now >= until:
            return False
        self._waits(judged, f"{judged.reason}; {again}", until, stands=limits.is_far(until, self.judge.now))
        return True

    def _waits_for_its_report(self, vm: str, judged: Judgement) -> bool:
        """Whether it would be kept or spared by its own word, such as that it runs a job, which cannot be read now."""
        observed = self.judge.observed
        mute = not observed.reports_source.known and vm not in observed.reports
        waits = mute and judged.rule.id in _BY_SILENCE and judged.verdict is not Verdict.WAIT
        if waits:
            self._wait(judged, "its report cannot be read")
        return waits

    def _waits_for_requests(self, judged: Judgement) -> bool:
        """Whether nobody can say yet which zones people gave up: what is made may be made in one of them.

        Of a record that cannot be read nobody ever will, and a zone that is given up does not answer anyway.
        """
        observed = self.judge.observed
        damaged = bucket_names.requests_object(self.judge.desired.stack) in observed.unreadable
        unread = not observed.requests_source.known and not damaged
        if unread:
            self._wait(judged, "operator requests cannot be read, such as that a zone is given up")
        return unread

    def _create(self, slot: DesiredSlot, judged: Judgement, placing: Placing) -> None:
        if self._waits_for_requests(judged):
            return
        place = placing.place(slot)
        if isinstance(place, NoPlace):
            reason = f"{judged.reason}; {place.why}"
            self._waits(judged, reason, place.until, stands=place.stands)
            return
        absence = self.judge.absence
        action = Create(
            slot=slot.name,
            place=place,
            passed=absence.passed(slot),
            stuck=absence.stuck(slot),
            rule=judged.rule.id,
            reason=judged.reason,
        )
        self.proposals.append(Proposal(action=action, pool=slot.pool, urgency=Urgency.MAKE, freeze=judged.rule.freeze))

    def _move(self, slot: DesiredSlot, judged: Judgement, placing: Placing) -> None:
        """People are told until the VM is gone; its slot does not wait for that where it has another place."""
        self._told(judged)
        judge = self.judge
        if {place.zone for place in slot.places} <= judge.absence.stuck_zones(slot):
            return
        if why := judge.stays(slot, self._node(slot)):
            self._wait(judged, why)
        else:
            self._create(slot, replace(judged, detail="it moves on"), placing)

    def _return_home(self, slot: DesiredSlot, judged: Judgement) -> None:
        """First it takes no more jobs; once it has none, it is made again at home."""
        judge, node, vm = self.judge, self._node(slot), self.judge.memory.vms[slot.name]
        if home_is_short(judge, slot):
            return
        if judge.busy(slot.name):
            self._wait(judged, "its runner has a job")
        elif vm.drained is None:
            action = Drain(vm=slot.name, on=True, rule=judged.rule.id, reason=judged.reason)
            takes = slot.name if judge.serving(slot.name) else ""
            self.proposals.append(
                Proposal(action=action, pool=slot.pool, takes=takes, freeze=False, urgency=Urgency.CHANGE)
            )
        elif self._drained_long_enough(slot.name, vm.drained):
            action = Recreate(slot=slot.name, node=node, place=None, rule=judged.rule.id, reason=judged.reason)
            self.proposals.append(
                Proposal(
                    action=action, pool=slot.pool, deletes=True, replaces=True, freeze=False, urgency=Urgency.CHANGE
                )
            )
        else:
            self._wait(judged, "its runner ends")

    def _orphan(self, node: NodeSeen, judged: Judgement) -> None:
        pool, planned = pool_of(node), judged.rule.subject is Subject.WINDOW
        if self._waits_for_its_report(node.name, judged):
            return
        match judged.verdict:
            case Verdict.DELETE:
                may_live = node.state not in GIVEN_BACK and not planned
                self.to_delete += may_live
                action = Delete(node=node, rule=judged.rule.id, reason=judged.reason)
                self.proposals.append(Proposal(action=action, pool=pool, deletes=may_live, freeze=judged.rule.freeze))
            case Verdict.DRAIN:
                self.to_delete += not planned
                action = Drain(vm=node.name, on=True, rule=judged.rule.id, reason=judged.reason)
                alone = Proposal(action=action, pool=pool, freeze=judged.rule.freeze)
                self.proposals.append(alone if planned else self._drain_of_orphan(node, action))
            case Verdict.REPORT:
                self._told(judged)
                if self.judge.busy(node.name) or judged.rule.when is Situation.OWN_WORD:
                    self._wait(judged)
            case Verdict.WAIT:
                self._wait(judged)
            case _:
                pass

    def _drain_of_orphan(self, node: NodeSeen, action: Drain) -> Proposal:
        """A second VM of a slot shares its name and so its orders: both stop for a while, and one stays."""
        since = self.judge.memory.suspects[node.orphan_key].since
        return Proposal(
            action=action,
            pool=pool_of(node),
            takes=node.name if self.judge.serving(node.name) else "",
            deletes=True,
            patience=since + self.judge.patience,
            freeze=False,
        )

    def _run_vm(self, node: NodeSeen, judged: Judgement) -> None:
        if judged.verdict is Verdict.DELETE:
            action = Delete(node=node, rule=judged.rule.id, reason=judged.reason)
            self.proposals.append(Proposal(action=action, deletes=True))
        elif judged.verdict is Verdict.WAIT:
            self._wait(judged)
        elif judged.verdict is Verdict.REPORT:
            self._told(judged)

    def _runners(self) -> None:
        for runner in self.judge.observed.runners:
            judged = self.judge.runner(runner)
            if judged.verdict is Verdict.REMOVE:
                action = RemoveRunner(
                    scope=runner.scope, id=runner.id, name=runner.name, rule=judged.rule.id, reason=judged.reason
                )
                self.proposals.append(Proposal(action=action))
            elif judged.verdict is Verdict.WAIT and judged.rule.id != "runner-unseen":
                self._wait(judged)

    def _troubles(self) -> None:
        """Quota and refusals need people; sources that are unknown are said as long as they are."""
        slots = self.judge.desired.slots
        declared = {
            BackoffKey(place.zone, slot.accelerator.name, place.capacity) for slot in slots for place in slot.places
        }
        for key, entry in self.judge.memory.backoff.items():
            if key in declared and entry.trouble in _FOR_PEOPLE and self._is_told(entry):
                self._finds(str(key), _FOR_PEOPLE[entry.trouble], entry.text, costs=self._is_missed(key))
        for name, source in self.judge.observed.sources.items():
            if not source.known:
                self._finds(str(name), OwnRule.UNKNOWN, source.reason, costs=self._is_needed(name))
        for name, reason in self.judge.observed.unreadable.items():
            self._finds(name, OwnRule.UNREADABLE, reason)

    def _is_told(self, entry: Backoff) -> bool:
        """Creates that came to nothing are told once a fallback would be taken for them: one alone is no news."""
        return entry.trouble is not Trouble.UNSERVED or exhausted(entry, self.judge.now)

    def _is_missed(self, key: BackoffKey) -> bool:
        """Whether a declared VM would be at a place that fails: it is not there, nor at one that comes before."""
        for slot in self.judge.desired.slots:
            places = [BackoffKey(place.zone, slot.accelerator.name, place.capacity) for place in slot.places]
            if key in places:
                node = self.judge.fleet.slots[slot.name]
                ready = node is not None and node.state == "READY"
                at = BackoffKey(node.zone, slot.accelerator.name, node.capacity) if node and ready else None
                if at not in places[: places.index(key) + 1]:
                    return True
        return False

    def _is_needed(self, name: SourceName) -> bool:
        """Whether, without a source, nobody can say what of the declared fleet serves, or what is lost stays lost."""
        desired, observed = self.judge.desired, self.judge.observed
        match name.kind:
            case SourceKind.ZONE:
                return name.of in desired.zones and name.of not in observed.requests.lost
            case SourceKind.GITHUB:
                return name.of in desired.scopes or (not name.of and bool(desired.scopes))
            case _:
                return name.kind in (SourceKind.REPORTS, SourceKind.REQUESTS)

    def _finds(self, about: str, rule: str, reason: str, *, costs: bool = False) -> None:
        finding = FleetFinding(subject=about, rule=rule, reason=reason, since=self.judge.now, costs=costs)
        self.findings.append(finding)

    def _told(self, judged: Judgement) -> None:
        costs = judged.rule.subject is Subject.SLOT or judged.rule.when is Situation.STUCK
        self._finds(judged.subject, judged.rule.id, judged.reason, costs=costs)

    def _wait(self, judged: Judgement, but: str = "") -> None:
        """but: why what its verdict asks for is not done."""
        reason = f"{judged.reason}; {but}" if but else judged.reason
        stands = judged.rule.when is Situation.UNHEARD and self.judge.is_long_unheard()
        self._waits(judged, reason, judged.until, stands=stands)

    def _waits(self, judged: Judgement, reason: str, until: datetime | None, *, stands: bool) -> None:
        wait = Waiting(subject=judged.subject, rule=judged.rule.id, reason=reason, until=until, stands=stands)
        self.waiting.append(wait)

    def _drained_long_enough(self, vm: str, since: datetime) -> bool:
        online = any(runner.online for runner in self.judge.observed.runners_of(vm))
        return not online or self.judge.now - since >= self.judge.grace

    def _node(self, slot: DesiredSlot) -> NodeSeen:
        node = self.judge.fleet.slots[slot.name]
        if node is None:
            raise AssertionError(f"{slot.name} was judged by a node")
        return node
