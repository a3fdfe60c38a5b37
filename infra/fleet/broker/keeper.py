"""What the broker does for the controller: it lists runners and the queue, and removes a runner that is no use.

Owns who may ask, what is told, and which runners may go: an offline one whose name is of this stack, a few a minute.
So the controller needs no credential of GitHub either, and whoever takes its place can end no job. Unlike a VM's, its
token may be used again while it lasts: Cloud Run's metadata server gives out the same one for a while, and nothing
that is asked for here is worth more the second time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from infra.fleet.broker.audit import AuditedRequest
from infra.fleet.broker.bindings import Bindings
from infra.fleet.broker.decide import DeclaredFleet
from infra.fleet.broker.fleet import FleetReader
from infra.fleet.broker.github_app import GitHubApp, deadline_from_now
from infra.fleet.broker.identity import Verifier
from infra.fleet.broker.pace import Pace
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.broker.requests import ControllerRequest, RequestKind
from infra.fleet.google import Clients
from infra.fleet.records import Records
from infra.model.runner_names import vm_of

PATIENCE: Final = 15.0
"""Seconds for all calls of one list together: shorter than the controller waits for a source."""
A_MINUTE: Final = 60
"""Requests within a minute that one broker answers."""
AT_ONCE: Final = 4
"""Requests that one broker answers at the same time: VMs shall never wait for threads that the controller holds."""
QUEUE_KEPT: Final = timedelta(minutes=1)
"""How long a queue is told again: looking at it takes a call for every run that has waiting jobs."""


@dataclass(slots=True, kw_only=True)
class Keeper:
    """account: the controller's. google: the clients of the thread that asks. bucket: of fleet records."""

    stack: str
    account: str
    bucket: str
    verifier: Verifier
    reader: FleetReader
    github: GitHubApp
    google: Callable[[], Clients]
    clock: Callable[[], datetime]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _looking: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _places: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(AT_ONCE), repr=False)
    _pace: Pace = field(default_factory=lambda: Pace(A_MINUTE), repr=False)
    _queue: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _queue_until: datetime = field(default=datetime.min.replace(tzinfo=UTC), repr=False)

    def run(self, token: str, asked: ControllerRequest, audited: AuditedRequest) -> Mapping[str, Any]:
        """The answer's body. Raises Refused. audited: is told what is found out on the way."""
        claims = self.verifier.verify(token, self.clock())
        audited.claims = claims
        if asked.stack != self.stack:
            raise Refused(Reason.FOREIGN_STACK)
        if claims.email != self.account:
            raise Refused(Reason.NOT_CONTROLLER)
        # Counted from here on alone: nobody else can take the controller's places.
        self._pace.count(claims.email, self.clock())
        if not self._places.acquire(blocking=False):
            raise Refused(Reason.CROWDED)
        try:
            return self._done(asked, audited)
        finally:
            self._places.release()

    def _done(self, asked: ControllerRequest, audited: AuditedRequest) -> Mapping[str, Any]:
        records = Records(google=self.google(), bucket=self.bucket)
        fleet, bindings = self.reader.fleet(records), Bindings(records=records, stack=self.stack)
        audited.scope = asked.scope or None
        if asked.scope and asked.scope not in fleet.scopes:
            _insist(asked, bindings.scopes())
        match asked.kind:
            case RequestKind.RUNNERS:
                return self._runners(asked, fleet)
            case RequestKind.QUEUE:
                return self._waiting(fleet)
            case RequestKind.REMOVAL:
                return self._removed(asked, fleet, bindings, audited)

    def _runners(self, asked: ControllerRequest, fleet: DeclaredFleet) -> Mapping[str, Any]:
        """Runners whose names are made by our rule; who else has runners there is told to nobody.

        Of every scope that is declared, or of the one that is asked for, where they may be still once nothing of it is
        declared any more.
        """
        deadline = deadline_from_now(PATIENCE)
        if asked.name:
            found = self.github.find(asked.scope, asked.name, deadline=deadline)
            listed = {asked.scope: (found,) if found else ()}
        else:
            scopes = (asked.scope,) if asked.scope else fleet.scopes
            listed = {scope: self.github.runners(scope, deadline=deadline) for scope in scopes}
        return {
            "scopes": [
                {"scope": scope, "runners": [asdict(runner) for runner in runners if vm_of(runner.name)]}
                for scope, runners in listed.items()
            ]
        }

    def _waiting(self, fleet: DeclaredFleet) -> Mapping[str, Any]:
        """One looks, and who asks meanwhile waits for what it finds."""
        with self._looking:
            now = self.clock()
            if not self._queue or not now < self._queue_until <= now + QUEUE_KEPT:
                self._queue = self._looked(fleet)
                self._queue_until = self.clock() + QUEUE_KEPT
            return self._queue

    def _looked(self, fleet: DeclaredFleet) -> Mapping[str, Any]:
        deadline = deadline_from_now(PATIENCE)
        found = [self.github.jobs(each, deadline=deadline) for each in fleet.repositories]
        return {
            "jobs": [
                {**asdict(job), "since": job.since.isoformat()}
                for job in sorted((job for each in found for job in each.waiting), key=lambda job: job.since)
            ],
            # Who else has a runner there is told to nobody.
            "running": [asdict(job) for each in found for job in each.running if vm_of(job.runner)],
        }

    def _removed(
        self, asked: ControllerRequest, fleet: DeclaredFleet, bindings: Bindings, audited: AuditedRequest
    ) -> Mapping[str, Any]:
        """The name of the runner that went, null where it was gone already."""
        deadline = deadline_from_now(PATIENCE)
        runner = self.github.runner(asked.scope, asked.number, deadline=deadline)
        if runner is None:
            return {"runner": None}
        audited.runner = runner.name
        vm = vm_of(runner.name)
        if vm is None or not (fleet.could_have(vm) or bindings.knows(vm)):
            raise Refused(Reason.FOREIGN_RUNNER)
        if runner.online or runner.busy:
            raise Refused(Reason.SERVING, f"runner {runner.name} is {'busy' if runner.busy else 'online'}")
        bindings.count_removal(self.clock())
        self.github.remove(asked.scope, runner, deadline=deadline)
        return {"runner": runner.name}


def _insist(asked: ControllerRequest, registered: Collection[str] | None) -> None:
    """Raises Refused where no runner is or was. The controller takes that for an empty list, so it must be certain."""
    if registered is None and asked.kind is RequestKind.RUNNERS:
        raise Refused(Reason.BAD_RECORD, "of scopes: there is none, so that nobody knows where runners were")
    if asked.scope not in (registered or ()):
        raise Refused(Reason.FOREIGN_RUNNER, f"{asked.scope} is nowhere that this stack's runners are or were")
