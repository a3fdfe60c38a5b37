"""Looking at everything that a sweep needs, at once: zones, operations, GitHub, reports, requests, the pointer.

Owns the calls and their deadline. Each source is asked in a thread of its own, scopes that left in one. A source that
fails, or is not done in time, is unknown, and what it had said so far is not used. List calls grow with zones and
scopes, not with VMs: nodes and operations are one list each a zone. A list of operations only tells sooner what became
of creates: one that fails hides no VM.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from infra.fleet import operator_requests
from infra.fleet.broker.identity import google_keys
from infra.fleet.controller import tpu_api, vm_records
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.github import NO_WAY, GitHub, GitHubError
from infra.fleet.controller.memory import Creating, Memory
from infra.fleet.controller.observed import KNOWN, CreateEnded, NodeSeen, Observed, RunnerSeen, Source, unknown
from infra.fleet.controller.rules import DEAD
from infra.fleet.controller.sorting import pool_of
from infra.fleet.controller.tpu_api import ShapeError
from infra.fleet.controller.vm_records import WantedReport, told
from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.operator_requests import OperatorRequests
from infra.fleet.proofs import Proofs
from infra.fleet.records import Body, Newest, Records
from infra.fleet.reports import ReportSeen
from infra.fleet.versions import AssignedVersion, PoolVersion
from infra.model import bucket_names
from infra.model.fleet import owns

DEADLINE: Final = 40.0
"""Seconds for every source with all its pages; reports, which are asked for last, have as many of their own."""
CALL_SECONDS: Final = 15.0
"""How long one call may take; a page of 500 VMs is megabytes, and one that failed is asked for once more."""
_ONE_MOMENT: Final = datetime.fromtimestamp(0, UTC)
_READERS: Final = 16
"""Threads that read reports: those of all VMs that boot after a wave must come within the deadline."""
_TELLING: Final = 8
"""Of how many VMs of a pool orders are read where no rollout of it is remembered: the canary alone has what is new."""

T = TypeVar("T")


_UNKNOWN: Final = (GoogleError, GitHubError, ShapeError)
_OTHER_SHAPE: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What reading an answer raises that is not of its API's shape: it makes one source unknown, and ends no sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Where to look. endpoint: root of the local cloud, None for Google. github: None where there is no way to it."""

    project: str
    bucket: str
    endpoint: str | None
    github: GitHub | None
    deadline: float = DEADLINE
    clock: Callable[[], float] = time.monotonic

    def observe(self, desired: Desired, memory: Memory) -> Observed:
        """Everything that one sweep sees."""
        zones = sorted(desired.zones | desired.run_zones | memory.zones.keys())
        creating = {
            zone: {slot: each for slot, each in memory.creating.items() if each.zone == zone and each.operation}
            for zone in zones
        }
        asked_of = self.github.sources(desired.scopes) if self.github else {each: (each,) for each in desired.scopes}
        registered = None if memory.sweeps else self._registered(desired.stack)
        remembered = {scope for scopes in memory.scopes.values() for scope in scopes}
        left = (remembered | (registered or frozenset())) - set(desired.scopes)
        threads = 2 * len(zones) + len(asked_of) + 4 + _READERS
        pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="observe")
        # One after another, however many there are: a broker answers few requests at once, and refuses the others.
        one = ThreadPoolExecutor(max_workers=1, thread_name_prefix="observe-left")
        try:
            until = self.clock() + self.deadline
            looked = {zone: pool.submit(self._zone, zone) for zone in zones}
            operations = {zone: pool.submit(self._ended, zone, asked) for zone, asked in creating.items() if asked}
            scopes = {source: pool.submit(self._runners, source) for source in asked_of}
            leaving = {scope: one.submit(self._left, scope) for scope in sorted(left)}
            requests = pool.submit(self._requests, desired.stack)
            targets = pool.submit(self._targets, desired)
            copies = pool.submit(self._set_aside)
            orders = pool.submit(self._told, desired, memory)
            found = {zone: self._result(future, until) for zone, future in looked.items()}
            ended = {zone: self._result(future, until) for zone, future in operations.items()}
            runners = {scope: self._result(future, until) for scope, future in scopes.items()}
            failed = [asked_of[source] for source, (heard, _) in runners.items() if not heard.known]
            alone = {each: one.submit(self._runners, each) for of in failed if len(of) > 1 for each in of}
            remaining = {scope: self._result(future, until) for scope, future in leaving.items()}
            by_itself = {scope: self._result(future, until) for scope, future in alone.items()}
            seen = [
                each
                for answers in (runners, by_itself, remaining)
                for _, answer in answers.values()
                for each in answer or ()
            ]
            requested, pointed = self._result(requests, until), self._result(targets, until)
            kept = requested[1]
            ordered, (_, unreadable) = self._result(orders, until), self._result(copies, until)
            online = {each.vm for each in seen if each.online}
            nodes = [node for _, answer in found.values() for node in answer or ()]
            unlisted = {zone for zone, (source, _) in found.items() if not source.known}
            asked = vm_records.to_be_asked(desired, memory, online, nodes, unlisted)
            proofs = self._proofs(desired.stack)
            until = self.clock() + self.deadline
            readers = [pool.submit(self._reports, asked[start::_READERS], proofs) for start in range(_READERS)]
            said = [self._result(reader, until) for reader in readers]
        finally:
            one.shutdown(wait=False, cancel_futures=True)
            pool.shutdown(wait=False, cancel_futures=True)
        scopes = {
            scope: by_itself[scope][0] if scope in by_itself else heard
            for source, (heard, _) in runners.items()
            for scope in asked_of[source]
        }
        return Observed(
            zones={zone: source for zone, (source, _) in found.items()},
            nodes=tuple(nodes),
            ended=tuple(each for _, answer in ended.values() for each in answer or ()),
            operations={zone: source for zone, (source, _) in ended.items()},
            github=_any_known({source: heard for source, (heard, _) in runners.items()}, scopes)
            if runners or left
            else _nothing_to_ask(desired, memory, nodes),
            scopes=scopes,
            left={scope: source for scope, (source, _) in remaining.items()},
            runners=tuple(seen),
            reports={vm: report for _, answer in said if answer for vm, report in answer[0].items()},
            reports_source=next((source for source in map(_of_reports, said) if not source.known), KNOWN),
            requests=kept.value if kept and kept.value else OperatorRequests(),
            requests_source=unknown(kept.why) if kept and kept.value is None else requested[0],
            unreadable=(unreadable or {}) | (_unreadable_requests(desired.stack, kept) if kept else {}),
            registered=registered,
            targets=pointed[1],
            targets_source=pointed[0],
            told=ordered[1] or {},
            told_source=ordered[0],
        )

    def _result(self, future: Future[T], until: float) -> tuple[Source, T | None]:
        """What a source came to. All run at once and have one deadline, however many are late."""
        try:
            return KNOWN, future.result(timeout=max(0.0, until - self.clock()))
        except TimeoutError:
            return unknown(f"no answer within {self.deadline:g} s"), None
        except _UNKNOWN as error:
            return unknown(str(error)), None
        except _OTHER_SHAPE as error:
            return unknown(f"its answer has another shape: {type(error).__name__} {error}"), None

    def _zone(self, zone: str) -> list[NodeSeen]:
        with self._google() as google:
            return tpu_api.nodes(google, self.project, zone)

    def _ended(self, zone: str, creating: Mapping[str, Creating]) -> list[CreateEnded]:
        with self._google() as google:
            return tpu_api.ended(google, self.project, zone, creating)

    def _runners(self, source: str) -> tuple[RunnerSeen, ...]:
        if self.github is None:
            raise GitHubError(NO_WAY)
        return self.github.runners(source)

    def _left(self, scope: str) -> tuple[RunnerSeen, ...]:
        """Runners of a scope that is declared no more."""
        return tuple(replace(runner, left=True) for runner in self._runners(scope))

    def _proofs(self, stack: str) -> Proofs:
        """Google's keys are asked for when a report has a proof, once a sweep."""
        return Proofs(stack=stack, keys=google_keys(self.endpoint, lambda: _ONE_MOMENT))

    def _reports(self, asked: Sequence[WantedReport], proofs: Proofs) -> tuple[dict[str, ReportSeen], str]:
        with self._google() as google:
            return vm_records.read(Records(google=google, bucket=self.bucket), asked, proofs) if asked else ({}, "")

    def _requests(self, stack: str) -> Newest[OperatorRequests]:
        with self._google() as google:
            return operator_requests.newest(Records(google=google, bucket=self.bucket), stack)

    def _set_aside(self) -> dict[str, str]:
        """Records that could not be read and were begun anew, whose copies nobody has deleted yet."""
        with self._google() as google:
            copies = Counter(
                copy.removeprefix(bucket_names.UNREADABLE_PREFIX).rpartition("/")[0]
                for copy in Records(google=google, bucket=self.bucket).below(bucket_names.UNREADABLE_PREFIX)
            )
        kept = f"gs://{self.bucket}/{bucket_names.UNREADABLE_PREFIX}"
        return {
            name: f"it could not be read and was begun anew; copies of it: {count}. "
            f"Fix: look at them, then gcloud storage rm -r {kept}{name}"
            for name, count in copies.items()
        }

    def _registered(self, stack: str) -> frozenset[str] | None:
        """Where the broker ever registered runners of a stack; None where nobody says."""
        try:
            with self._google() as google:
                body = Records(google=google, bucket=self.bucket).body(bucket_names.scopes_object(stack))
            return None if body is None else frozenset(map(str, body["scopes"]))
        except (*_UNKNOWN, *_OTHER_SHAPE):
            return None

    def _targets(self, desired: Desired) -> dict[str, PoolVersion]:
        with self._google() as google:
            pointer = Records(google=google, bucket=self.bucket).body(bucket_names.pointer_object())
        return pointed(pointer, desired)

    def _told(self, desired: Desired, memory: Memory) -> dict[str, AssignedVersion]:
        """What the orders of pools say that are new here, or were forgotten."""
        new = [pool for pool in desired.pools if pool not in memory.rollouts]
        vms = [slot.name for pool in new for slot in desired.of_pool(pool)[:_TELLING] if slot.has_runner]
        if not vms:
            return {}
        with self._google() as google:
            records = Records(google=google, bucket=self.bucket)
            found = {vm: told(records, vm) for vm in vms}
        return {vm: each for vm, each in found.items() if each is not None}

    def _google(self) -> Clients:
        return clients(self.project, self.endpoint, hurried=True, seconds=CALL_SECONDS)


def pointed(pointer: Body | None, desired: Desired) -> dict[str, PoolVersion]:
    """What each pool shall run: the images that the pointer names, and the manifest's bundle."""
    images: Any = (pointer or {}).get("images") or {}
    return {
        pool: PoolVersion(images={str(k): str(v) for k, v in images.get(pool, {}).items()}, bundle=desired.bundle)
        for pool in desired.pools
    }


def _unreadable_requests(stack: str, found: Newest[OperatorRequests]) -> dict[str, str]:
    holds = "the last requests that can be read hold" if found.value else "no requests can be read"
    return {bucket_names.requests_object(stack): f"{holds}: {found.why}"} if found.unreadable else {}


def _nothing_to_ask(desired: Desired, memory: Memory, nodes: Iterable[NodeSeen]) -> Source:
    """Where no runner is looked for, whether there can be none: a VM of ours may have one that nobody knows where."""
    known = memory.scopes.keys() | set(desired.pools)
    ours = (node for node in nodes if owns(desired.stack, node.labels) and node.state not in DEAD)
    strange = sorted({pool_of(node) or "(none)" for node in ours if pool_of(node) not in known})
    if not strange:
        return KNOWN
    return unknown(
        f"nobody knows with which repository runners of pool {', '.join(strange)} are registered; "
        "declare the pool, or delete its VMs by hand once they have no job"
    )


def _of_reports(said: tuple[Source, tuple[dict[str, ReportSeen], str] | None]) -> Source:
    source, answer = said
    return unknown(answer[1]) if answer and answer[1] else source


def _any_known(sources: Mapping[str, Source], scopes: Mapping[str, Source]) -> Source:
    """Known if any scope is: then each says for itself whether it is."""
    if not scopes or any(source.known for source in scopes.values()):
        return KNOWN
    return unknown("; ".join(f"{name}: {source.reason}" for name, source in sources.items()))
