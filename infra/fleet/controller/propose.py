"""What the verdicts of one sweep ask for, before any limit is asked, and what is only waited for or told.

Owns how a verdict becomes an action. Does not own verdicts (`judge`), limits (`limits`) nor rollouts (`rollout`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from infra.fleet.controller import limits, rollout
from infra.fleet.controller.actions import Create, Delete, Drain, Proposal, Recreate, RemoveRunner, Restart, Waiting
from infra.fleet.controller.backoff import backoff_key
from infra.fleet.controller.desired import Place, Wanted
from infra.fleet.controller.judge import Judge, Judged
from infra.fleet.controller.memory import Rollout
from infra.fleet.controller.notice import orphan_key
from infra.fleet.controller.observed import NodeSeen, Trouble
from infra.fleet.controller.placing import NoPlace, Placing
from infra.fleet.controller.room import Room
from infra.fleet.controller.rules import DEAD, GIVEN_BACK, Situation, Verdict, remakes
from infra.fleet.controller.sorting import pool_of
from infra.fleet.controller.trial import UNDER_WAY
from infra.model import calendar

_HEAL, _MAKE, _CHANGE, _TIDY = range(4)
"""Urgencies: what is dead first, then what is missing, then what changes, then what is in nobody's way."""

_BY_SILENCE: Final = frozenset({"slot-unserved", "slot-restarted", "orphan-idle"})
"""Rules that fit a VM which says nothing that is against it."""

_SERVES: Final = frozenset({Situation.SERVING, Situation.SERVING_AWAY})


@dataclass(slots=True, kw_only=True)
class Proposals:
    """What is gathered while one sweep judges.

    dead: slots that look lost; condemned: orphans that would go; what Google took back is in neither.
    """

    judge: Judge
    proposals: list[Proposal] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    findings: list[tuple[str, str, str]] = field(default_factory=list)
    unhealthy: dict[str, str] = field(default_factory=dict)
    rollouts: dict[str, Rollout] = field(default_factory=dict)
    dead: int = 0
    condemned: int = 0

    def judge_everything(self) -> None:
        judge, fleet = self.judge, self.judge.fleet
        judged = [(slot, judge.slot(slot)) for slot in judge.desired.slots]
        self._slots(judged)
        for node in fleet.orphans:
            self._orphan(node, judge.orphan(node))
        for node in fleet.run_vms:
            self._run_vm(node, judge.run_vm(node))
        for node in fleet.strangers:
            self._told(judge.stranger(node))
        self._runners()
        self._drains()
        self._roll()
        self._troubles()

    def _slots(self, judged: list[tuple[Wanted, Judged]]) -> None:
        judge = self.judge
        room = Room(judge.desired, judge.fleet, judge.memory)
        placing = Placing.of(room, judge.absence)
        for slot, each in sorted(judged, key=lambda pair: (judge.memory.vms[pair[0].name].attempts, pair[0].name)):
            if each.verdict is not Verdict.KEEP and each.rule.when not in _SERVES:
                self.unhealthy[slot.name] = each.reason
            if self._waits_for_its_report(slot.name, each):
                continue
            match each.verdict:
                case Verdict.RECREATE:
                    self._recreate(slot, each, placing)
                case Verdict.CREATE:
                    self._create(slot, each, placing)
                case Verdict.RESTART:
                    number = judge.memory.vms[slot.name].restart + 1
                    action = Restart(vm=slot.name, number=number, rule=each.rule.id, reason=each.reason)
                    self.proposals.append(Proposal(action=action, pool=slot.pool, urgency=_HEAL))
                case Verdict.RETURN_HOME:
                    self._return_home(slot, each)
                case Verdict.REPORT:
                    self._told(each)
                case Verdict.WAIT:
                    self._wait(each)
                case Verdict.KEEP if each.rule.when is Situation.IMAGELESS:
                    self.findings.append((slot.pool, each.rule.id, each.reason))
                case _:
                    pass

    def _recreate(self, slot: Wanted, judged: Judged, placing: Placing) -> None:
        node = self._node(slot)
        may_live = node.state not in GIVEN_BACK
        self.dead += may_live
        if node.state not in DEAD and self.judge.busy(slot.name):
            self._wait(judged, "its runner has a job")
            return
        if node.state not in DEAD and not self.judge.heard(node, slot.pool):
            self._wait(judged, "GitHub cannot be asked whether it runs a job")
            return
        if self.judge.observed.engine:
            self._wait(judged, self.judge.observed.engine)
            return
        if may_live and self._is_remade_too_soon(slot, judged):
            return
        if self._waits_for_wishes(judged):
            return
        place = placing.place(slot, only_zone=node.zone)
        action = Recreate(
            slot=slot.name,
            node=node,
            place=place if isinstance(place, Place) else None,
            passed=self.judge.absence.passed(slot),
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
                urgency=_HEAL,
            )
        )

    def _is_remade_too_soon(self, slot: Wanted, judged: Judged) -> bool:
        """Whether it was replaced before, never served since, and is to wait. After some times people are told."""
        known = self.judge.memory.vms[slot.name]
        if known.remade_at is None:
            return False
        again = f"replaced {known.remade} times, and it never served for an hour"
        if known.remade >= remakes().told_after:
            self.findings.append((slot.name, "slot-remade", f"{judged.reason}; {again}"))
        until = known.remade_at + remakes().wait(known.remade)
        if self.judge.now >= until:
            return False
        reason = f"{judged.reason}; {again}"
        stands = limits.is_far(until, self.judge.now)
        self.waiting.append(Waiting(subject=slot.name, rule=judged.rule.id, reason=reason, until=until, stands=stands))
        return True

    def _waits_for_its_report(self, vm: str, judged: Judged) -> bool:
        """Whether it would be kept or spared by its own word, such as that it runs a job, which cannot be read now."""
        observed = self.judge.observed
        mute = not observed.reports_source.known and vm not in observed.reports
        waits = mute and judged.rule.id in _BY_SILENCE and judged.verdict is not Verdict.WAIT
        if waits:
            self._wait(judged, "what it says of itself cannot be read")
        return waits

    def _waits_for_wishes(self, judged: Judged) -> bool:
        """Whether nobody can say which zones people gave up: what is made may be made in one of them."""
        unread = not self.judge.observed.wishes_source.known
        if unread:
            self._wait(judged, "what people wish cannot be read, such as that a zone is given up")
        return unread

    def _create(self, slot: Wanted, judged: Judged, placing: Placing) -> None:
        if self._waits_for_wishes(judged):
            return
        place = placing.place(slot)
        if isinstance(place, NoPlace):
            reason = f"{judged.reason}; {place.why}"
            wait = Waiting(
                subject=slot.name, rule=judged.rule.id, reason=reason, until=place.until, stands=place.stands
            )
            self.waiting.append(wait)
            return
        passed = self.judge.absence.passed(slot)
        action = Create(slot=slot.name, place=place, passed=passed, rule=judged.rule.id, reason=judged.reason)
        self.proposals.append(Proposal(action=action, pool=slot.pool, urgency=_MAKE, freeze=judged.rule.freeze))

    def _return_home(self, slot: Wanted, judged: Judged) -> None:
        """First it takes no more jobs; once it has none, it is made again at home."""
        judge, node, vm = self.judge, self._node(slot), self.judge.memory.vms[slot.name]
        if self._home_is_short(slot):
            return
        if judge.busy(slot.name):
            self._wait(judged, "its runner has a job")
        elif vm.drained is None:
            action = Drain(vm=slot.name, on=True, rule=judged.rule.id, reason=judged.reason)
            takes = slot.name if judge.serving(slot.name) else ""
            self.proposals.append(Proposal(action=action, pool=slot.pool, takes=takes, freeze=False, urgency=_CHANGE))
        elif self._drained_long_enough(slot.name, vm.drained):
            action = Recreate(slot=slot.name, node=node, place=None, rule=judged.rule.id, reason=judged.reason)
            self.proposals.append(
                Proposal(action=action, pool=slot.pool, deletes=True, replaces=True, freeze=False, urgency=_CHANGE)
            )
        else:
            self._wait(judged, "its runner ends")

    def _orphan(self, node: NodeSeen, judged: Judged) -> None:
        pool = pool_of(node)
        if self._waits_for_its_report(node.name, judged):
            return
        match judged.verdict:
            case Verdict.DELETE:
                may_live = node.state not in GIVEN_BACK
                self.condemned += may_live
                action = Delete(node=node, rule=judged.rule.id, reason=judged.reason)
                self.proposals.append(
                    Proposal(action=action, pool=pool, deletes=may_live, freeze=judged.rule.freeze, urgency=_TIDY)
                )
            case Verdict.DRAIN:
                self.condemned += 1
                action = Drain(vm=node.name, on=True, rule=judged.rule.id, reason=judged.reason)
                self.proposals.append(self._drain_of_orphan(node, action))
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
        since = self.judge.memory.suspects[orphan_key(node)].since
        return Proposal(
            action=action,
            pool=pool_of(node),
            takes=node.name if self.judge.serving(node.name) else "",
            deletes=True,
            patience=since + self.judge.patience,
            freeze=False,
            urgency=_TIDY,
        )

    def _run_vm(self, node: NodeSeen, judged: Judged) -> None:
        if judged.verdict is Verdict.DELETE:
            action = Delete(node=node, rule=judged.rule.id, reason=judged.reason)
            self.proposals.append(Proposal(action=action, deletes=True, urgency=_TIDY))
        elif judged.verdict is Verdict.WAIT:
            self._wait(judged)

    def _runners(self) -> None:
        for runner in self.judge.observed.runners:
            judged = self.judge.runner(runner)
            if judged.verdict is Verdict.REMOVE:
                action = RemoveRunner(
                    scope=runner.scope, id=runner.id, name=runner.name, rule=judged.rule.id, reason=judged.reason
                )
                self.proposals.append(Proposal(action=action, urgency=_TIDY))
            elif judged.verdict is Verdict.WAIT and judged.rule.id != "runner-unseen":
                self._wait(judged)

    def _drains(self) -> None:
        """Orders follow what people wish; what nobody wishes any more ends, unless the VM is on its way home."""
        judge = self.judge
        if not judge.observed.wishes_source.known:
            return
        for slot in judge.desired.slots:
            drained = judge.memory.vms[slot.name].drained
            wish = next((each for each in judge.observed.wishes.drains if each.subject in (slot.name, slot.pool)), None)
            if wish is not None and drained is None:
                reason = f"{wish.by} drains {wish.subject}"
                self._order(slot, Drain(vm=slot.name, on=True, rule="drain-wished", reason=reason))
            elif wish is None and drained is not None and not self._leaves(slot):
                self._order(slot, Drain(vm=slot.name, on=False, rule="drain-over", reason="nobody drains it any more"))
            if wish is not None and drained is not None and judge.busy(slot.name):
                over = (judge.now - wish.since).total_seconds() >= wish.minutes * 60
                reason = f"its job runs on, {wish.minutes} minutes after {wish.by} drained {wish.subject}"
                if over:
                    self.findings.append((slot.name, "drain-late", reason))
                else:
                    self.waiting.append(Waiting(subject=slot.name, rule="drain-wished", reason="its job is waited for"))

    def _order(self, slot: Wanted, action: Drain) -> None:
        self.proposals.append(Proposal(action=action, pool=slot.pool, urgency=_CHANGE))

    def _leaves(self, slot: Wanted) -> bool:
        """Whether a VM was drained because it, or another of its name, is about to go."""
        node = self.judge.fleet.slots[slot.name]
        if any(orphan.name == slot.name for orphan in self.judge.fleet.orphans):
            return True
        if node is None or node.state != "READY" or not self.judge.away(slot, node) or self._home_is_short(slot):
            return False
        judged = self.judge.slot(slot)
        return judged.rule.verdict is not Verdict.RETURN_HOME or judged.until is None

    def _home_is_short(self, slot: Wanted) -> bool:
        home = backoff_key(slot.home.zone, slot.accelerator.name, slot.home.capacity)
        return home in self.judge.memory.backoff or slot.home.zone in self.judge.observed.wishes.lost

    def _roll(self) -> None:
        judge = self.judge
        self.rollouts = dict(judge.memory.rollouts)
        if judge.observed.targets is None or not judge.observed.wishes_source.known:
            return
        window = limits.frozen(judge.desired, judge.now)
        for pool in judge.desired.pools:
            target = judge.observed.targets.get(pool)
            if target is None or not any(slot.has_runner for slot in judge.desired.of_pool(pool)):
                continue  # without a runner nothing is ever proved
            paused = pool in judge.observed.wishes.paused
            halted = "paused" if paused else f"freeze window {window}" if window else ""
            rolled = rollout.rolled(pool, judge, target, halted=halted)
            if rolled is None:
                continue
            self.rollouts[pool] = rolled.rollout
            self.proposals += [Proposal(action=each, pool=pool, urgency=_CHANGE) for each in rolled.assigns]
            if rolled.problem:
                self.findings.append((pool, "rollout-failed", rolled.problem))
            if rolled.rollout.stage in UNDER_WAY or rolled.rollout.returning:
                self.waiting.append(self._rolling(pool, rolled.rollout, window, paused=paused))

    def _rolling(self, pool: str, rollout: Rollout, window: str, *, paused: bool) -> Waiting:
        """A rollout that is paused or frozen stands once no VM is waited for: until then it may still go back."""
        now, vms = self.judge.now, len(self.judge.desired.of_pool(pool))
        thaw = calendar.thaws(self.judge.desired.freezes, now) if window and not paused else None
        said = [f"{rollout.stage}, {len(rollout.proved)} of {vms} VMs proved"] if rollout.stage in UNDER_WAY else []
        said += [f"{len(rollout.returning)} VMs go back to what was proved"] if rollout.returning else []
        return Waiting(
            subject=pool,
            rule="rollout",
            reason="; ".join((*said, *rollout.held)),
            until=thaw,
            stands=not (rollout.waiting or rollout.returning)
            and (paused or (thaw is not None and limits.is_far(thaw, now))),
        )

    def _troubles(self) -> None:
        """Quota and refusals need people; sources that are unknown are said as long as they are."""
        slots = self.judge.desired.slots
        declared = {
            backoff_key(place.zone, slot.accelerator.name, place.capacity) for slot in slots for place in slot.places
        }
        for key, entry in self.judge.memory.backoff.items():
            if key in declared and entry.trouble in (Trouble.QUOTA, Trouble.REFUSED):
                self.findings.append((key, f"create-{entry.trouble.value}", entry.text))
        for name, source in self.judge.observed.sources.items():
            if not source.known:
                self.findings.append((name, "unknown", source.reason))

    def _told(self, judged: Judged) -> None:
        self.findings.append((judged.subject, judged.rule.id, judged.reason))

    def _wait(self, judged: Judged, but: str = "") -> None:
        reason = f"{judged.reason}; {but}" if but else judged.reason
        until = None if but else judged.until
        stands = judged.rule.when is Situation.UNHEARD and self.judge.is_long_unheard()
        wait = Waiting(subject=judged.subject, rule=judged.rule.id, reason=reason, until=until, stands=stands)
        self.waiting.append(wait)

    def _drained_long_enough(self, vm: str, since: datetime) -> bool:
        online = any(runner.online for runner in self.judge.observed.runners_of(vm))
        return not online or self.judge.now - since >= self.judge.grace

    def _node(self, slot: Wanted) -> NodeSeen:
        node = self.judge.fleet.slots[slot.name]
        if node is None:
            raise AssertionError(f"{slot.name} was judged by a node")
        return node
