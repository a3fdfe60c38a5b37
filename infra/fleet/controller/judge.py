"""Which row of the table fits each thing, and whether its wait is over.

Owns what the situations mean. Does not own the table (`rules`), the clocks (`notice`) nor what is proposed (`decide`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.absence import SWEEPS, Absence
from infra.fleet.controller.desired import Desired, DesiredSlot
from infra.fleet.controller.keys import OwnRule
from infra.fleet.controller.limits import HOUR
from infra.fleet.controller.memory import Creating, Memory, NodeMemory
from infra.fleet.controller.notice import HEARD, waits_for_an_image
from infra.fleet.controller.observed import NodeSeen, Observed, RunnerSeen
from infra.fleet.controller.rules import ABSENT, Judgement, Situation, Subject, Verdict, find
from infra.fleet.controller.sorting import FleetNodes, VmNames, pool_of
from infra.fleet.reports import Phase, ReportSeen
from infra.model import run_labels
from infra.model.catalogue import CapacityKind

_UNFIT: Final = frozenset({Phase.UNFIT, Phase.HALTED})
_RESTS: Final = _UNFIT | {Phase.DRAINING}
"""Phases in which a VM has no job and takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges everything that one sweep saw. memory: with this sweep noticed in it."""

    desired: Desired
    observed: Observed
    fleet: FleetNodes
    memory: Memory
    now: datetime

    def slot(self, slot: DesiredSlot) -> Judgement:
        """A declared VM, there or not."""
        node = self.fleet.slots[slot.name]
        if node is None:
            return self._absent(slot)
        if self._successor(slot) is not None and not self.absence.stuck(slot):
            return self._ruled(slot.name, Subject.SLOT, ABSENT, "", frozenset({Situation.ASKED_FOR}))
        known = self.memory.nodes[node.key]
        clocks = {
            "state": known.since,
            "unserved": known.unserved,
            "restarted": _later(known.restarted, known.unserved),
        }
        situations = self._there(slot, node, known)
        detail = ""
        if situations & {Situation.UNFIT, Situation.UNFIT_UNPROVED} and (
            report := self.observed.reports.get(slot.name)
        ):
            detail = report.reason
        return self._ruled(slot.name, Subject.SLOT, node.state, node.health, situations, clocks, detail)

    def stays(self, slot: DesiredSlot, node: NodeSeen) -> str:
        """Why a slot whose VM is stuck gets no other one yet, empty where it may: nobody works on the stuck one."""
        if not slot.has_runner and node.state != "DELETING":
            return "nobody can say whether it works"
        if not self.heard(node, slot.pool):
            return "GitHub does not say whether it runs a job"
        if any(runner.online for runner in self.observed.runners_of(slot.name)):
            return "a runner of it is online"
        if not self.observed.reports_source.known and slot.name not in self.observed.reports:
            return "its report cannot be read"
        if self._says_it_works(node):
            return "it says that it runs a job"
        absent = self._absent(slot).rule
        return "" if absent.verdict is Verdict.CREATE else absent.why

    def boots(self, slot: DesiredSlot, judged: Judgement) -> bool:
        """Whether a declared VM does not serve yet, and still has time to: nothing is wrong with it."""
        if not judged.rule.boots or (judged.rule.wait is not None and judged.until is None):
            return False
        node = self.fleet.slots[slot.name]
        limit = judged.rule.limit(self.desired.settings)
        if node is None or node.state != "READY" or limit is None:
            return True
        known = self.memory.nodes[node.key]
        if known.unserved is not None and known.unserved > known.since:
            return False  # it served before
        # Of a VM that no sweep saw being made, only the API says for how long it has been there.
        begun = known.since if known.first_seen < known.since else node.made or known.since
        return self.now < begun + limit

    def orphan(self, node: NodeSeen) -> Judgement:
        """A VM with our label that is not declared, is a slot's second, or is of a window that is over."""
        suspect, slot = self.memory.suspects[node.orphan_key], self.desired.slot(node.name)
        situations, detail = set(), ""
        if slot is not None and node in self.absence.stuck(slot):
            situations.add(Situation.STUCK)
            detail = f"{node.state} in {node.zone}"
        if suspect.sweeps < SWEEPS or self.now - suspect.since < self.grace:
            situations.add(Situation.UNPROVED)
        if self.observed.engine:
            situations.add(Situation.ENGINE)
        if not self.heard(node, pool_of(node)):
            situations.add(Situation.UNHEARD)
        online = [runner for runner in self.observed.runners_of(node.name) if runner.online]
        works = not online and (self._says_it_works(node) or self._may_work_unseen(node))
        if online:
            situations.add(Situation.SERVING)
        if works:
            situations.add(Situation.AT_WORK)
        if not online and self._says_it_works(node) and self._may_be_elsewhere(node):
            situations.add(Situation.OWN_WORD)
        if (online or works) and suspect.drained is None:
            situations.add(Situation.UNDRAINED)
        if any(runner.busy for runner in online):
            situations.add(Situation.BUSY)
        clocks = {"state": self.memory.nodes[node.key].since, "suspect": suspect.since, "drained": suspect.drained}
        about = Subject.WINDOW if self.desired.is_closed(node.name, node.zone) else Subject.ORPHAN
        return self._ruled(node.name, about, node.state, node.health, frozenset(situations), clocks, detail)

    def run_vm(self, node: NodeSeen) -> Judgement:
        """A VM that a workflow made for one run."""
        labels = run_labels.read(node.labels)
        expired = labels is not None and labels.has_expired(int(self.now.timestamp()))
        situations = frozenset({Situation.EXPIRED} if expired else set())
        detail = f"run {labels.run}" if labels else ""
        clocks = {"state": self.memory.nodes[node.key].since}
        return self._ruled(node.name, Subject.RUN_VM, node.state, node.health, situations, clocks, detail)

    def stranger(self, node: NodeSeen) -> Judgement:
        """A VM that is nobody's here."""
        situations = set()
        if self._holds_reservation(node):
            situations.add(Situation.HOLDS_RESERVATION)
        if run_labels.RUN in node.labels:
            situations.add(Situation.HALF_LABELLED)
        where = f"{node.accelerator} in {node.zone}"
        return self._ruled(node.name, Subject.STRANGER, node.state, node.health, frozenset(situations), detail=where)

    def runner(self, runner: RunnerSeen) -> Judgement:
        """A runner at GitHub. It is ours only if its name is that of a VM that we have, had or could declare."""
        vm = runner.vm
        if vm is None or not self.names.is_ours(vm):
            return self._ruled(runner.name, Subject.RUNNER, ABSENT, "", frozenset({Situation.FOREIGN}))
        if runner.online:
            return self._ruled(runner.name, Subject.RUNNER, ABSENT, "", frozenset({Situation.ONLINE}))
        node = next(iter(self.observed.nodes_of(vm)), None)
        suspect = self.memory.suspects[runner.key]
        situations = set()
        if node is None and not all(self.observed.zone_known(zone) for zone in self.names.zones(vm)):
            situations.add(Situation.UNHEARD)
        if suspect.sweeps >= SWEEPS and self.now - suspect.since >= self.grace:
            situations.add(Situation.PROVED)
        else:
            situations.add(Situation.UNPROVED)
        state = node.state if node else ABSENT
        clocks = {"suspect": suspect.since}
        return self._ruled(runner.name, Subject.RUNNER, state, "", frozenset(situations), clocks)

    def serving(self, vm: str) -> bool:
        """Whether a runner of a VM is online and it was not told to take no job."""
        known = self.memory.vms.get(vm)
        drained = known is not None and known.drained is not None
        return not drained and any(runner.serves for runner in self.observed.runners_of(vm))

    def serving_by_pool(self) -> dict[str, frozenset[str]]:
        """VMs that take jobs now; orphans serve too until they are drained."""
        serving: dict[str, set[str]] = {}
        for slot in self.desired.slots:
            node = self.fleet.slots[slot.name]
            if node is not None and node.state == "READY" and self.serving(slot.name):
                serving.setdefault(slot.pool, set()).add(slot.name)
        for node in self.fleet.orphans:
            drained = self.memory.suspects[node.orphan_key].drained
            if drained is None and any(each.serves for each in self.observed.runners_of(node.name)):
                serving.setdefault(pool_of(node), set()).add(node.name)
        return {pool: frozenset(vms) for pool, vms in serving.items()}

    def heard(self, node: NodeSeen, pool: str) -> bool:
        """Whether every list answered that a runner of this VM may be on.

        A scope that is declared no more matters to VMs that were there while it was. Of a pool that nobody remembers,
        a runner may be wherever anything is declared.
        """
        made = node.made or self.memory.nodes[node.key].first_seen
        scopes = self.memory.scopes.get(pool)
        if scopes is None:
            return self.observed.hears(self.observed.scopes)
        return self.observed.hears(scope for scope, each in scopes.items() if each.declared or made <= each.until)

    def hears(self, pool: str) -> bool:
        """Whether every list answered that a runner of a declared pool is on."""
        return self.observed.hears(self.desired.scopes_of(pool))

    def busy(self, vm: str) -> bool:
        return any(runner.online and runner.busy for runner in self.observed.runners_of(vm))

    def away(self, slot: DesiredSlot, node: NodeSeen) -> bool:
        """Whether a slot's VM stands at one of its fallbacks."""
        return (node.zone, node.capacity) != (slot.home.zone, slot.home.capacity)

    def zone(self, slot: DesiredSlot) -> str | None:
        """Where its VM is, is being made or is made first; None where a list that may have it does not say."""
        where = self._successor(slot) or self.fleet.slots[slot.name]
        if where is not None:
            return where.zone
        unsure = {Situation.UNHEARD, Situation.MISSED_ONCE} & self.absence.situations(slot)
        return None if unsure else slot.home.zone

    @property
    def grace(self) -> timedelta:
        return timedelta(minutes=self.desired.settings.grace)

    @property
    def patience(self) -> timedelta:
        """How long the last serving VM of a pool is spared though it should go."""
        return timedelta(minutes=self.desired.settings.job)

    def asked_to_drain(self, slot: DesiredSlot) -> bool:
        """Also where nobody can say: then what is drained stays so, and nothing else is drained for going home."""
        requests = self.observed.requests.drains
        return not self.observed.requests_source.known or any(
            each.subject in (slot.name, slot.pool) for each in requests
        )

    def is_long_unheard(self) -> bool:
        """Whether what cannot be asked could not be an hour ago: that is no outage that one waits for."""
        silent = [self.now - since for key, since in self.memory.reported.items() if key.rule == OwnRule.UNKNOWN]
        return bool(silent) and min(silent) > HOUR

    def _absent(self, slot: DesiredSlot) -> Judgement:
        """A declared VM that no list shows, or that is stuck."""
        clocks, situations = {"declared": self.observed.declared}, self.absence.situations(slot)
        return self._ruled(slot.name, Subject.SLOT, ABSENT, "", situations, clocks, self.observed.engine)

    def _there(self, slot: DesiredSlot, node: NodeSeen, known: NodeMemory) -> frozenset[Situation]:
        situations = set()
        online = any(runner.serves for runner in self.observed.runners_of(slot.name))
        vm = self.memory.vms[slot.name]
        requested = self.asked_to_drain(slot)
        if not slot.has_runner:
            situations.add(Situation.RUNNERLESS)
        if online:
            situations.add(Situation.SERVING)
        if not self.heard(node, slot.pool):
            situations.add(Situation.UNHEARD)
        if vm.drained is not None:
            situations.add(Situation.DRAINING)
        taken = online or vm.drained is not None
        if self.hears(slot.pool) and self.away(slot, node) and not requested and taken:
            situations.add(Situation.SERVING_AWAY)
        if not self._is_on_trial(slot) and (unfit := self._unfit_report(node)):
            proved = unfit.proved == node.zone
            if proved:
                situations.add(Situation.UNFIT)
            elif known.restarted is None:
                situations.add(Situation.UNFIT_UNPROVED)
        if waits_for_an_image(node, self.memory, self.observed, self.now):
            situations.add(Situation.IMAGELESS)
        if known.restarted is not None:
            situations.add(Situation.RESTARTED)
        elif not online and self._says_it_works(node):
            situations.add(Situation.AT_WORK)
        if not online and self._says_it_works(node) and self._may_be_elsewhere(node):
            situations.add(Situation.OWN_WORD)
        return frozenset(situations)

    def _successor(self, slot: DesiredSlot) -> Creating | None:
        """What was asked for and counts for the slot: a list that shows another one, not READY, lags."""
        node = self.fleet.slots[slot.name]
        return None if node is not None and node.state == "READY" else self.memory.creating.get(slot.name)

    @property
    def names(self) -> VmNames:
        return VmNames(desired=self.desired, fleet=self.fleet, memory=self.memory)

    @property
    def absence(self) -> Absence:
        """What is known of slots whose VM no list shows."""
        return Absence(desired=self.desired, observed=self.observed, fleet=self.fleet, memory=self.memory, now=self.now)

    def _is_on_trial(self, slot: DesiredSlot) -> bool:
        """Whether it is to prove a new version: that is taken back before the VM itself is blamed."""
        rollout = self.memory.rollouts.get(slot.pool)
        return rollout is not None and slot.name in rollout.waiting

    def _unfit_report(self, node: NodeSeen) -> ReportSeen | None:
        """The report that calls a VM unfit, None where none does."""
        report = self._own_report(node)
        return report if report is not None and report.phase in _UNFIT else None

    def _says_it_works(self, node: NodeSeen) -> bool:
        """Its runner may be registered where nobody looks any more, as with a repository that is served no longer."""
        report = self._own_report(node)
        return report is not None and report.phase is Phase.BUSY and abs(self.now - report.at) < HEARD

    def _may_be_elsewhere(self, node: NodeSeen) -> bool:
        """Whether its runner may be registered where nobody looks: that was forgotten, and it was made before."""
        made, forgot = node.made or self.memory.nodes[node.key].first_seen, self.memory.forgot
        return pool_of(node) not in self.memory.scopes or (forgot is not None and made <= forgot)

    def _may_work_unseen(self, node: NodeSeen) -> bool:
        """Whether nobody knows where its runner would be registered, and it does not say itself that it rests."""
        if pool_of(node) in self.memory.scopes:
            return False
        report = self._own_report(node)
        return report is None or report.phase not in _RESTS or abs(self.now - report.at) >= HEARD

    def _own_report(self, node: NodeSeen) -> ReportSeen | None:
        """Believed of this VM alone; a report of the one that had its name before says nothing."""
        report = self.observed.reports.get(node.name)
        if report is None:
            return None
        return report if report.is_of(node.made or self.memory.nodes[node.key].first_seen) else None

    def _holds_reservation(self, node: NodeSeen) -> bool:
        if node.capacity is not CapacityKind.RESERVED:
            return False
        ours = [cap for cap in self.desired.caps if cap.reservation is not None]
        if node.reserved_name:
            return any(cap.reservation == node.reserved_name.rpartition("/")[2] for cap in ours)
        return any(cap.zone == node.zone for cap in ours)

    def _ruled(
        self,
        name: str,
        subject: Subject,
        state: str,
        health: str,
        situations: frozenset[Situation],
        clocks: dict[str, datetime | None] | None = None,
        detail: str = "",
    ) -> Judgement:
        rule = find(subject, state, health, situations)
        limit = rule.limit(self.desired.settings)
        if limit is None or rule.since is None:
            return Judgement(subject=name, rule=rule, detail=detail)
        since = (clocks or {}).get(rule.since)
        until = (since or self.now) + limit
        return Judgement(subject=name, rule=rule, until=until if self.now < until else None, detail=detail)


def _later(first: datetime | None, second: datetime | None) -> datetime | None:
    return max((each for each in (first, second) if each is not None), default=None)
