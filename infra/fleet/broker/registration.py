"""One registration, from a token to a configuration for one job.

Owns the order: who asks, what is declared, what is there, the binding written, and only then GitHub. What is decided is
`decide`'s. A token is used up and the time of a registration counted before GitHub is asked, so that nothing that fails
there can be had twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from infra.fleet.broker import fleet
from infra.fleet.broker.audit import Story
from infra.fleet.broker.bindings import Bindings
from infra.fleet.broker.decide import Binding, Request, Slot, admitted, entitled, standing
from infra.fleet.broker.fleet import FleetReader
from infra.fleet.broker.github_app import GitHubApp, deadline_from_now
from infra.fleet.broker.github_calls import PATIENCE
from infra.fleet.broker.identity import Verifier
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.google import Clients
from infra.fleet.records import Records
from infra.model.runner_names import SUFFIX_DIGITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What a VM gets. jit: its one secret."""

    runner: str
    jit: str = field(repr=False)
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """Everything that a registration needs. google: the clients of the thread that asks. bucket: of fleet records."""

    stack: str
    bucket: str
    verifier: Verifier
    reader: FleetReader
    github: GitHubApp
    google: Callable[[], Clients]
    clock: Callable[[], datetime]

    def register(self, token: str, request: Request, story: Story) -> Granted:
        """A registration for one job. Raises Refused. story: is told what is found out on the way."""
        claims = self.verifier.verify(token, self.clock())
        story.claims = claims
        google = self.google()
        records = Records(google=google, bucket=self.bucket)
        slot = entitled(request, claims, self.reader.fleet(records))
        story.scope = slot.scope
        node = standing(request, claims, fleet.node(google, slot, claims))
        before: list[Binding] = []

        def decided(held: Binding | None) -> Binding:
            before[:] = [held] if held else []
            suffix = secrets.token_hex(SUFFIX_DIGITS // 2)
            # The time of the decision and not of the request: from here on it is short until the registration is made.
            return admitted(slot, claims, node, held, suffix=suffix, now=self.clock())

        binding = Bindings(records=records, stack=self.stack).update(request.vm, decided)
        assert binding.runner is not None
        assert binding.scope is not None
        story.runner = binding.runner
        return self._minted(slot, binding.scope, binding.runner, before[0] if before else None)

    def _minted(self, slot: Slot, scope: str, name: str, before: Binding | None) -> Granted:
        """The registration at GitHub, after the one before is out of the way."""
        deadline = deadline_from_now(PATIENCE)
        if before is not None and before.runner is not None and before.scope is not None:
            self._cleared(before.scope, before.runner, deadline)
        made = self.github.register(scope, name, labels=slot.labels, group=slot.group, deadline=deadline)
        return Granted(runner=name, jit=made.jit, expires=made.expires)

    def _cleared(self, scope: str, name: str, deadline: float) -> None:
        """Remove the runner of the registration before, so that its configuration cannot be used, unless it serves."""
        found = self.github.find(scope, name, deadline=deadline)
        if found is None:
            return
        if found.online or found.busy:
            raise Refused(Reason.SERVING, f"runner {name} is {'busy' if found.busy else 'online'}")
        self.github.remove(scope, found, deadline=deadline)
