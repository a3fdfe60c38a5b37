"""A client of the control surface: what `./tidepool cloud ...` and tests tell the local cloud.

Owns the calls and their plain answers. Every method raises `ControlError` with the cloud's own words when it refuses.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from bench.cloud.loopback import NoAnswerError, asked
from infra.model.errors import OutsideError

if TYPE_CHECKING:
    from bench.cloud.faults import FaultKind

JsonObject = dict[str, Any]


class ControlError(OutsideError):
    """The cloud refused, or nobody answers at the address."""


class Control:
    """url: root of a local cloud, as `daemon.Handle` has it. timeout: seconds."""

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout

    def pid(self) -> int:
        """The process that answers."""
        return self._ask("GET", "health")["pid"]

    def status(self) -> JsonObject:
        """pid, time, uptimeSeconds, requests, nodes and builds (count by state), faults, limits, compression.

        eventsSetAside: events that failed, which the cloud's log explains; 0 unless the cloud has a defect.
        """
        return self._ask("GET", "status")

    # Clock and speed

    def clock(self) -> JsonObject:
        """time (RFC 3339), seconds (since the epoch), offset (ahead of the wall clock)."""
        return self._ask("GET", "clock")

    def advance(self, seconds: float) -> JsonObject:
        """Move cloud time forward; what becomes due happens. The answer is `clock`'s."""
        return self._ask("POST", "clock", {"advance": seconds})

    def set_compression(self, factor: float) -> JsonObject:
        """Divide operation delays by `factor`: 1 is realistic, 1000 the default. Operations that run keep theirs."""
        return self._ask("POST", "settings", {"compression": factor})

    # Nodes

    def nodes(self) -> list[JsonObject]:
        """Every TPU node as the API shows it."""
        return self._ask("GET", "nodes")["nodes"]

    def preempt(self, node: str) -> JsonObject:
        """Take a READY preemptible or spot node away; `node` is its id, or its full name where ids repeat."""
        return self._ask("POST", "preempt", {"node": node})

    def maintain(self, node: str, seconds: float | None = None) -> JsonObject:
        """Begin a maintenance event that ends after `seconds` of cloud time (600 where left out)."""
        return self._ask("POST", "maintain", {"node": node, **({} if seconds is None else {"seconds": seconds})})

    def add_node(self, name: str, node: JsonObject) -> JsonObject:
        """A node nobody asked the API for, READY at once; `name` is full."""
        return self._ask("POST", "nodes", {"name": name, "node": node})

    def edit_node(self, name: str, changes: JsonObject) -> JsonObject:
        """Set fields of a node behind everybody's back; None removes one."""
        return self._ask("PATCH", f"nodes/{quote(name)}", changes)

    def remove_node(self, name: str) -> None:
        """Gone at once."""
        self._ask("DELETE", f"nodes/{quote(name)}")

    # Identity

    def identity_token(
        self, node: str, audience: str, *, worker: int = 0, full: bool = True, claims: JsonObject | None = None
    ) -> str:
        """What the metadata server of a READY node's host answers to `identity?audience=...&format=full`.

        full: with the instance in it. claims: take the place of others of the token; None leaves one out.
        """
        asked = {"node": node, "audience": audience, "worker": worker, "format": "full" if full else "standard"}
        return self._ask("POST", "identity/token", {**asked, "claims": claims or {}})["token"]

    def account_token(self, account: str, audience: str) -> str:
        """What the metadata server of something that runs as this account answers, and that is no VM."""
        return self._ask("POST", "identity/token", {"account": account, "audience": audience})["token"]

    def rotate_identity_keys(self, *, retire: bool = False) -> str:
        """Let Google sign with a new key, whose id is the answer. retire: it stops publishing the others."""
        return self._ask("POST", "identity/rotate", {"retire": retire})["kid"]

    # Faults

    def faults(self) -> list[JsonObject]:
        return self._ask("GET", "faults")["faults"]

    def fail(self, kind: FaultKind, **rule: Any) -> JsonObject:
        """Add a fault; the fields of `rule` are those of `faults.FaultRule`. The answer has its `id`."""
        return self._ask("POST", "faults", {"kind": kind, **rule})

    def mend(self, fault: int | None = None) -> None:
        """Remove one fault, or all."""
        self._ask("DELETE", "faults" if fault is None else f"faults/{fault}")

    # Limits

    def limits(self) -> list[JsonObject]:
        """Each with the chips `held` of it here."""
        return self._ask("GET", "limits")["limits"]

    def limit(
        self,
        *,
        project: str,
        zone: str,
        generation: str,
        chips: int,
        capacity: Literal["on-demand", "preemptible", "reserved"] = "on-demand",
        **more: Any,
    ) -> JsonObject:
        """Declare a quota, or with `reserved` a reservation. more: see `limits.Limit`."""
        scope = {"project": project, "zone": zone, "generation": generation, "capacity": capacity}
        return self._ask("POST", "limits", {**scope, "chips": chips, **more})

    def lift(self, *, project: str, zone: str, generation: str, capacity: str = "on-demand") -> None:
        """Remove a declared limit."""
        scope = {"project": project, "zone": zone, "generation": generation, "capacity": capacity}
        self._ask("DELETE", "limits", scope)

    # The registry that Artifact Registry shows

    def registry(self) -> JsonObject:
        """address (host:port) of the OCI registry beside the cloud; None where there is none."""
        return self._ask("GET", "registry")

    def set_registry(self, address: str) -> JsonObject:
        """Say where the OCI registry is, which lasts until `forget_registry` or `reset`."""
        return self._ask("POST", "registry", {"address": address})

    def forget_registry(self) -> None:
        """Artifact Registry holds no images any more."""
        self._ask("DELETE", "registry")

    # Log and reset

    def log(self, *, limit: int = 200, after: int = 0) -> list[JsonObject]:
        """The last requests, oldest first; fields of `requestlog.LoggedRequest`. after: only numbers above it."""
        return self._ask("GET", f"log?limit={limit}&after={after}")["entries"]

    def reset(self) -> None:
        """Forget every resource, fault, limit and setting; the clock stays."""
        self._ask("POST", "reset")

    def _ask(self, verb: str, path: str, body: JsonObject | None = None) -> JsonObject:
        sent = None if body is None else json.dumps(body)
        try:
            found = asked(self.url, verb, f"/_tidepool/{path}", sent, seconds=self._timeout)
            answer = json.loads(found.body)
        except (NoAnswerError, ValueError) as error:
            raise ControlError(f"the local cloud at {self.url} does not answer: {error}") from error
        if "error" in answer and found.status >= 400:
            raise ControlError(answer["error"]["message"])
        return answer


class CloudClock:
    """What time it is in a local cloud, for what works beside it. Asked each time: a clock that was moved is moved."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self._control.clock()["seconds"], tz=UTC)
