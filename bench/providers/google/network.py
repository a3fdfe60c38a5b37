"""The calls of network resources that are not quite ordinary: subnetworks, routers' NATs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import Rest
from bench.providers.google.transport import ApiError

_Nats = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnetwork(Rest):
    """Two of its properties change by verbs of their own, the others by a patch with the fingerprint that was read."""

    def update(self, call: ResourceCall) -> None:
        path = self.path(call)
        verbs = {"ipCidrRange": "expandIpCidrRange", "privateIpGoogleAccess": "setPrivateIpGoogleAccess"}
        for name, verb in verbs.items():
            if name in call.changed:
                body = {name: call.body[name]} if name in call.body else {}
                self.ended(call, call.send("POST", f"{path}/{verb}", body=body))
        rest = {name for name in call.changed - verbs.keys() if not self.fields[name].local}
        if rest:
            fingerprint = call.send("GET", path).get("fingerprint")
            body = {name: call.body.get(name, self.fields[name].zero) for name in sorted(rest)}
            self.ended(call, call.send("PATCH", path, body={"fingerprint": fingerprint, **body}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterNat(Rest):
    """An entry in a router's list of NATs, which is read, changed and written back as a whole, one at a time."""

    def create(self, call: ResourceCall) -> None:
        def added(nats: _Nats) -> _Nats:
            if any(nat["name"] == call.values["name"] for nat in nats):
                message = f"the router {call.values['router']!r} has a NAT {call.values['name']!r} already"
                raise ApiError(HTTPStatus.CONFLICT, message)
            return [*nats, call.body]

        self._change(call, added)

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        nats = (call.find(self.path(call)) or {}).get("nats") or []
        return next((nat for nat in nats if nat["name"] == call.values["name"]), None)

    def update(self, call: ResourceCall) -> None:
        self._change(call, lambda nats: [call.body if nat["name"] == call.values["name"] else nat for nat in nats])

    def delete(self, call: ResourceCall) -> None:
        self._change(call, lambda nats: [nat for nat in nats if nat["name"] != call.values["name"]])

    def _change(self, call: ResourceCall, change: Callable[[_Nats], _Nats]) -> None:
        path = self.path(call)
        with call.api.turn(path):
            nats = change(call.send("GET", path).get("nats") or [])
            self.ended(call, call.send("PATCH", path, body={"nats": nats}))
