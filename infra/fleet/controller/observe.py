"""Looking at everything that a sweep needs, at once: zones, operations, GitHub, reports, wishes, the pointer.

Owns the calls and their deadline. Each source is asked in a thread of its own, scopes that left in one. A source that
fails, or is not done in time, is unknown, and what it had said so far is not used. List calls grow with zones and
scopes, not with VMs: nodes and operations are one list each a zone. A list of operations only tells sooner what became
of creates: one that fails hides no VM.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

import urllib3

from infra.fleet.broker.identity import GOOGLE_KEYS, LOCAL_KEYS, GoogleKeys, fetcher
from infra.fleet.controller import troubles
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.github import NO_WAY, GitHub, GitHubError
from infra.fleet.controller.memory import Creating, Memory
from infra.fleet.controller.observed import (
    KNOWN,
    CreateEnded,
    NodeSeen,
    Observed,
    ReportSeen,
    RunnerSeen,
    Source,
    Target,
    Wishes,
    unknown,
)
from infra.fleet.controller.orders import told_image
from infra.fleet.controller.rules import DEAD
from infra.fleet.controller.sorting import is_ours, pool_of
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.proofs import Proofs
from infra.fleet.records import Body, Records
from infra.fleet.reports import proved_report
from infra.fleet.wishes import read_wishes
from infra.model import names
from infra.model.catalogue import CapacityKind

DEADLINE: Final = 40.0
"""Seconds for every source with all its pages; reports, which are asked for last, have as many of their own."""
CALL_SECONDS: Final = 15.0
"""How long one call may take; a page of 500 VMs is megabytes, and one that failed is asked for once more."""
_NODE_PAGE: Final = 500
_READERS: Final = 4
"""Threads that read reports; all of a large fleet's are asked for only where nobody of it is online."""
_TELLING: Final = 8
"""Of how many VMs of a pool orders are read where no rollout of it is remembered: the canary alone has what is new."""
_UNPROVED: Final = 4
"""Of how many VMs that serve and have proved no report yet one is read a sweep, in turns."""

T = TypeVar("T")


class _ShapeError(Exception):
    """An answer that is not what its API promises."""


_UNKNOWN: Final = (GoogleError, GitHubError, _ShapeError)
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
        asked_of = self.github.sources(desired.scopes) if self.github else desired.scopes
        left = {scope for scopes in memory.scopes.values() for scope in scopes} - set(desired.scopes)
        threads = 2 * len(zones) + len(asked_of) + 3 + _READERS
        pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="observe")
        # One after another, however many there are: a broker takes few errands at once, and refuses the others.
        one = ThreadPoolExecutor(max_workers=1, thread_name_prefix="observe-left")
        try:
            until = self.clock() + self.deadline
            looked = {zone: pool.submit(self._zone, zone) for zone in zones}
            operations = {zone: pool.submit(self._ended, zone, asked) for zone, asked in creating.items() if asked}
            scopes = {source: pool.submit(self._runners, source) for source in asked_of}
            leaving = {scope: one.submit(self._left, scope) for scope in sorted(left)}
            wishes = pool.submit(self._wishes, desired.stack)
            targets = pool.submit(self._targets, desired)
            orders = pool.submit(self._told, desired, memory)
            found = {zone: self._result(future, until) for zone, future in looked.items()}
            ended = {zone: self._result(future, until) for zone, future in operations.items()}
            runners = {scope: self._result(future, until) for scope, future in scopes.items()}
            remaining = {scope: self._result(future, until) for scope, future in leaving.items()}
            seen = [each for _, answer in (*runners.values(), *remaining.values()) for each in answer or ()]
            wished, pointed = self._result(wishes, until), self._result(targets, until)
            told = self._result(orders, until)
            online = {each.vm for each in seen if each.online}
            nodes = [node for _, answer in found.values() for node in answer or ()]
            asked, proofs = _to_be_asked(desired, memory, online, nodes), self._proofs(desired.stack)
            until = self.clock() + self.deadline
            readers = [pool.submit(self._reports, asked[start::_READERS], proofs) for start in range(_READERS)]
            said = [self._result(reader, until) for reader in readers]
        finally:
            one.shutdown(wait=False, cancel_futures=True)
            pool.shutdown(wait=False, cancel_futures=True)
        return Observed(
            zones={zone: source for zone, (source, _) in found.items()},
            nodes=tuple(nodes),
            ended=tuple(each for _, answer in ended.values() for each in answer or ()),
            operations={zone: source for zone, (source, _) in ended.items()},
            github=_all_known({scope: source for scope, (source, _) in runners.items()})
            if runners or left
            else _nothing_to_ask(desired, memory, nodes),
            left={scope: source for scope, (source, _) in remaining.items()},
            runners=tuple(seen),
            reports={vm: report for _, answer in said if answer for vm, report in answer[0].items()},
            reports_source=next((source for source in map(_of_reports, said) if not source.known), KNOWN),
            wishes=wished[1] or Wishes(),
            wishes_source=wished[0],
            targets=pointed[1],
            targets_source=pointed[0],
            told=told[1] or {},
            told_source=told[0],
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
            return [_node(zone, node) for node in self._nodes(google, f"projects/{self.project}/locations/{zone}")]

    def _ended(self, zone: str, creating: Mapping[str, Creating]) -> list[CreateEnded]:
        with self._google() as google:
            operations = self._operations(google, f"projects/{self.project}/locations/{zone}")
            return list(_ended(zone, creating, operations))

    def _nodes(self, google: Clients, parent: str) -> Iterable[Mapping[str, Any]]:
        api = google.api(Api.TPU).projects().locations().nodes()
        request = api.list(parent=parent, pageSize=_NODE_PAGE)
        while request is not None:
            answer = execute(request, f"listing the TPU VMs of {parent}")
            if answer.get("unreachable"):
                raise _ShapeError(f"listing the TPU VMs of {parent}: {', '.join(answer['unreachable'])} did not answer")
            yield from answer.get("nodes", ())
            request = api.list_next(request, answer)

    def _operations(self, google: Clients, parent: str) -> Iterable[Mapping[str, Any]]:
        api = google.api(Api.TPU).projects().locations().operations()
        request = api.list(name=parent, pageSize=_NODE_PAGE)
        while request is not None:
            answer = execute(request, f"listing the operations of {parent}")
            yield from answer.get("operations", ())
            request = api.list_next(request, answer)

    def _runners(self, source: str) -> tuple[RunnerSeen, ...]:
        if self.github is None:
            raise GitHubError(NO_WAY)
        return self.github.runners(source)

    def _left(self, scope: str) -> tuple[RunnerSeen, ...]:
        """Runners of a scope that is declared no more."""
        return tuple(replace(runner, left=True) for runner in self._runners(scope))

    def _proofs(self, stack: str) -> Proofs:
        """Google's keys are asked for when a report has a proof, once a sweep."""
        url = GOOGLE_KEYS if self.endpoint is None else f"{self.endpoint.rstrip('/')}{LOCAL_KEYS}"
        keys = GoogleKeys(fetcher(url, urllib3.PoolManager(num_pools=1)), lambda: datetime.now(UTC))
        return Proofs(stack=stack, keys=keys)

    def _reports(self, asked: Sequence[_Vm], proofs: Proofs) -> tuple[dict[str, ReportSeen], str]:
        """What these VMs say of themselves, and why the first of them cannot be read, empty where all can.

        A report that cannot be read or understood says nothing, and hides no other.
        """
        found: dict[str, ReportSeen] = {}
        failure = ""
        if not asked:
            return found, failure
        with self._google() as google:
            records = Records(google=google, bucket=self.bucket)
            for vm in asked:
                try:
                    report = proved_report(records, vm.pool, vm.name, proofs, vm.made, proves=vm.proves)
                except GoogleError as error:
                    failure = failure or str(error)
                    continue
                if report is not None:
                    found[vm.name] = report
        return found, failure

    def _wishes(self, stack: str) -> Wishes:
        with self._google() as google:
            record = Records(google=google, bucket=self.bucket).read(names.wishes_object(stack))
        return read_wishes(record.body) if record else Wishes()

    def _targets(self, desired: Desired) -> dict[str, Target]:
        with self._google() as google:
            record = Records(google=google, bucket=self.bucket).read(names.pointer_object())
        return pointed(record.body if record else None, desired)

    def _told(self, desired: Desired, memory: Memory) -> dict[str, str]:
        """What the orders of pools say that are new here, or were forgotten."""
        new = [pool for pool in desired.pools if pool not in memory.rollouts]
        vms = [slot.name for pool in new for slot in desired.of_pool(pool)[:_TELLING] if slot.has_runner]
        if not vms:
            return {}
        with self._google() as google:
            records = Records(google=google, bucket=self.bucket)
            found = {vm: told_image(records, vm) for vm in vms}
        return {vm: image for vm, image in found.items() if image}

    def _google(self) -> Clients:
        return clients(self.project, self.endpoint, hurried=True, seconds=CALL_SECONDS)


def pointed(pointer: Body | None, desired: Desired) -> dict[str, Target]:
    """What each pool shall run: the images that the pointer names, and the manifest's bundle."""
    images: Any = (pointer or {}).get("images") or {}
    return {
        pool: Target(images={str(k): str(v) for k, v in images.get(pool, {}).items()}, bundle=desired.bundle)
        for pool in desired.pools
    }


class _Vm(NamedTuple):
    """made: by zone, when the VM of that name there was made. proves: whether its reports were proved before."""

    pool: str
    name: str
    made: Mapping[str, str] = {}
    proves: bool = False


def _to_be_asked(
    desired: Desired, memory: Memory, online: Collection[str | None], nodes: Iterable[NodeSeen]
) -> list[_Vm]:
    """VMs whose report matters: nobody of theirs is online, or a rollout waits for them. Mostly there are none.

    Orphans too: what they run may be of a repository that is served no more, whose runners nobody lists. And a few that
    serve: once their report is proved no other VM speaks for them, as it might when they next have no runner.
    """
    waiting = {vm for rollout in memory.rollouts.values() for vm in (*rollout.waiting, *rollout.returning)}
    pools: dict[str, str] = {}
    made: dict[str, dict[str, str]] = {}
    proving, unproved = set(), set()
    for node in nodes:
        if is_ours(node, desired.stack) and pool_of(node):
            pools[node.name] = pool_of(node)
            made.setdefault(node.name, {})[node.zone] = node.created
            known = memory.nodes.get(node.key)
            if known is not None and known.proved and known.created == node.created:
                proving.add(node.name)
            elif node.state == "READY" and node.name in online:
                unproved.add(node.name)
    turn = memory.sweeps * _UNPROVED % max(1, len(unproved))
    asked = {*waiting, *(sorted(unproved) * 2)[turn : turn + _UNPROVED]}
    pools |= {slot.name: slot.pool for slot in desired.slots}
    return [
        _Vm(pool, name, made.get(name, {}), name in proving)
        for name, pool in pools.items()
        if name not in online or name in asked
    ]


def _node(zone: str, node: Mapping[str, Any]) -> NodeSeen:
    scheduling = node.get("schedulingConfig") or {}
    try:
        return NodeSeen(
            name=str(node["name"]).rpartition("/")[2],
            zone=zone,
            state=str(node.get("state", "STATE_UNSPECIFIED")),
            health=str(node.get("health", "")),
            health_text=str(node.get("healthDescription", "")),
            accelerator=str(node.get("acceleratorType", "")),
            capacity=_capacity(scheduling),
            created=str(node.get("createTime", "")),
            labels=dict(node.get("labels") or {}),
        )
    except (KeyError, TypeError) as error:
        raise _ShapeError(f"a TPU VM in {zone} cannot be read: {type(error).__name__} {error}") from None


def _capacity(scheduling: Mapping[str, Any]) -> CapacityKind:
    for key, kind in (
        ("reserved", CapacityKind.RESERVED),
        ("spot", CapacityKind.SPOT),
        ("preemptible", CapacityKind.PREEMPTIBLE),
    ):
        if scheduling.get(key):
            return kind
    return CapacityKind.ON_DEMAND


def _ended(
    zone: str, creating: Mapping[str, Creating], operations: Iterable[Mapping[str, Any]]
) -> Iterable[CreateEnded]:
    by_name = {str(operation.get("name")): operation for operation in operations}
    for slot, asked in creating.items():
        operation = by_name.get(asked.operation, {})
        if not operation.get("done"):
            continue
        error = operation.get("error") or {}
        text = str(error.get("message", ""))
        trouble = troubles.of_operation(int(error.get("code", 0)), text) if error else None
        yield CreateEnded(slot=slot, zone=zone, trouble=trouble, text=text)


def _nothing_to_ask(desired: Desired, memory: Memory, nodes: Iterable[NodeSeen]) -> Source:
    """Where no runner is looked for, whether there can be none: a VM of ours may have one that nobody knows where."""
    known = memory.scopes.keys() | set(desired.pools)
    ours = (node for node in nodes if is_ours(node, desired.stack) and node.state not in DEAD)
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


def _all_known(scopes: Mapping[str, Source]) -> Source:
    """Known if every scope is: a VM may be registered with any of them."""
    failed = [f"{scope}: {source.reason}" for scope, source in scopes.items() if not source.known]
    return unknown("; ".join(failed)) if failed else KNOWN
