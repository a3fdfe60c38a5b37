"""One registration, from a token to a configuration for one job.

Owns the order: who asks, what is declared, what is there, the request counted in the binding, the runner before out of
the way, the new one's name in the binding, and only then the new one. Whatever fails in between, a token is used up and
the one runner that may be there is known. What is decided is `decide`'s.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from infra.fleet.broker import fleet
from infra.fleet.broker.audit import AuditedRequest
from infra.fleet.broker.bindings import Bindings
from infra.fleet.broker.decide import (
    Binding,
    Claims,
    ObservedNode,
    RegistrationRequest,
    Slot,
    admitted,
    entitled,
    named,
    standing,
)
from infra.fleet.broker.fleet import FleetReader
from infra.fleet.broker.github_app import GitHubApp, deadline_from_now
from infra.fleet.broker.identity import Verifier
from infra.fleet.broker.pace import Pace
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.google import Clients
from infra.fleet.records import Records
from infra.model.runner_names import SUFFIX_DIGITS, runner_name

PATIENCE: Final = 20.0
"""Seconds for all calls of GitHub of one registration together; shorter than two registrations of a VM are apart."""
A_MINUTE: Final = 20
"""Requests of one machine within a minute that one broker looks into. A supervisor makes about two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What a VM gets. jit: its one secret."""

    runner: str
    jit: str = field(repr=False)
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Registrar:
    """Everything that a registration needs. google: the clients of the thread that asks. bucket: of fleet records."""

    stack: str
    bucket: str
    verifier: Verifier
    reader: FleetReader
    github: GitHubApp
    google: Callable[[], Clients]
    clock: Callable[[], datetime]
    _pace: Pace = field(default_factory=lambda: Pace(A_MINUTE), repr=False)
    _noted: set[str] = field(default_factory=set, repr=False)

    def register(self, token: str, request: RegistrationRequest, audited: AuditedRequest) -> Granted:
        """A registration for one job. Raises Refused. audited: is told what is found out on the way."""
        claims = self.verifier.verify(token, self.clock())
        audited.claims = claims
        google = self.google()
        records = Records(google=google, bucket=self.bucket)
        slot = entitled(request, claims, self.reader.fleet(records))
        audited.scope = slot.scope
        # A machine slows nobody down but itself, whatever VM it speaks for.
        self._pace.count(claims.instance.id if claims.instance else slot.vm, self.clock())
        node = standing(request, claims, fleet.node(google, slot, claims))
        bindings = Bindings(records=records, stack=self.stack)
        admission = bindings.update(request.vm, self._admission(request.vm, claims, node, bindings))
        deadline = deadline_from_now(PATIENCE)
        self._clear(admission, slot, deadline)
        name = runner_name(slot.vm, secrets.token_hex(SUFFIX_DIGITS // 2))
        bindings.update(request.vm, lambda held: named(held, admission, runner=name, scope=slot.scope))
        audited.runner = name
        assert slot.scope is not None
        self._note(slot.scope, bindings)
        made = self.github.register(slot.scope, name, labels=slot.labels, group=slot.group, deadline=deadline)
        return Granted(runner=name, jit=made.jit, expires=made.expires)

    def _note(self, scope: str, bindings: Bindings) -> None:
        """Where runners are must be known for as long as they are there, also when nothing of it is declared."""
        if scope not in self._noted:
            bindings.note_scope(scope)
            self._noted.add(scope)

    def _admission(
        self, vm: str, claims: Claims, node: ObservedNode, bindings: Bindings
    ) -> Callable[[Binding | None], Binding]:
        """Decides by the binding that there is, and takes for the VM what its token is by: a machine, or itself."""

        def decided(held: Binding | None) -> Binding:
            binding = admitted(claims, node, held, now=self.clock())
            if binding.instance is None:
                bindings.spend(claims, vm, self.clock())
            elif held is not None and held.instance == binding.instance:
                return binding
            else:
                bindings.claim(binding.instance, vm)
            # Claiming took its time, and from the time of a decision it is counted how long GitHub may take.
            return admitted(claims, node, held, now=self.clock())

        return decided

    def _clear(self, admission: Binding, slot: Slot, deadline: float) -> None:
        """Remove the runner before, so that its configuration cannot be used too. Raises Refused where it serves."""
        if admission.runner is None or admission.scope is None:
            return
        try:
            found = self.github.find(admission.scope, admission.runner, deadline=deadline)
        except Refused as refused:
            if refused.reason is Reason.GITHUB_REFUSED and admission.scope != slot.scope:
                # It was registered elsewhere than runners are now, where the app may have no rights any more.
                return
            raise
        if found is None:
            return
        if found.online or found.busy:
            raise Refused(Reason.SERVING, f"runner {admission.runner} is {'busy' if found.busy else 'online'}")
        self.github.remove(admission.scope, found, deadline=deadline)
