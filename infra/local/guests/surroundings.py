"""What a guest reaches from its VM: the fleet bucket and the broker, by the requests that the shell files make.

Owns HTTP and the reading of answers, and remembers within one look what the bucket said. Does not own what follows.
"""

from __future__ import annotations

import hashlib
import http.client
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from infra.local.cloud.control import ControlError
from infra.local.guests.control import GuestControl
from infra.model import names, report_proof

_SECONDS: Final = 90.0
_OK: Final = 200
_NO_STARTUP: Final = "the start-up record of the fleet bucket cannot be read"


class UnreadableError(Exception):
    """What should be in the bucket cannot be read; the text is the reason that a VM reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vm:
    """A node with a guest. name: full. life: which making of it. since: cloud time when its state began.

    hosts: of its slice.
    stack, pool, region, bucket: as its metadata server says.
    """

    name: str
    machine: str
    state: str
    life: str
    since: float
    hosts: int
    stack: str
    pool: str
    region: str
    bucket: str

    @property
    def id(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def zone(self) -> str:
        return self.name.split("/")[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a VM is to run and do: its own orders, and where they say nothing of an image the pointer.

    image: empty for none. bundle: only by orders.
    """

    image: str
    bundle: str
    restart: int
    drain: bool

    @classmethod
    def read(cls, told: Mapping[str, Any], pointer: Mapping[str, Any], pool: str, region: str, zone: str) -> Orders:
        """Of the documents: a VM's own orders, and the pointer. zone: where the VM stands."""
        said = told.get("image")
        pointed = ((pointer.get("images") or {}).get(pool) or {}).get(region)
        return cls(
            image="" if said == names.NO_IMAGE else said or pointed or "",
            bundle=told.get("bundle") or "",
            restart=int(told.get("restart") or 0),
            drain=told.get("drain") is True and told.get("drain_in") in (None, "", zone),
        )

    @property
    def text(self) -> str:
        """By which two are told apart."""
        return f"{self.image}|{self.bundle}|{self.restart}|{self.drain}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What the broker answered. jit: empty where it refused, for `reason`; again: the seconds that it said."""

    jit: str = ""
    runner: str = ""
    reason: str = ""
    again: float | None = None


class Surroundings:
    """broker: the address of a stack's broker, None where there is none. One look's worth: the bucket is read once."""

    def __init__(self, control: GuestControl, broker: Callable[[str], str | None]) -> None:
        self.control = control
        self._broker = broker
        self._read: dict[tuple[str, str], bytes | None] = {}

    def startup(self, vm: Vm) -> Mapping[str, Any] | None:
        """`runner/startup.json`; None before the first apply."""
        return self._object(vm, names.startup_object(), _NO_STARTUP)

    def orders(self, vm: Vm) -> Orders:
        """Raises UnreadableError."""
        told = self._object(vm, names.orders_object(vm.id), "the VM's orders cannot be read") or {}
        if self.startup(vm) is None:
            raise UnreadableError(_NO_STARTUP)
        pointer = self._object(vm, names.pointer_object(), "the pointer of the fleet bucket cannot be read") or {}
        return Orders.read(told, pointer, vm.pool, vm.region, vm.zone)

    def has_bundle(self, vm: Vm, sha256: str) -> bool:
        """Whether the bundle of that checksum is there and is what its name says."""
        content = self._content(vm, names.bundle_object(sha256))
        return content is not None and hashlib.sha256(content).hexdigest() == sha256

    def report(self, vm: Vm, body: Mapping[str, Any]) -> None:
        """Write the VM's report, with its proof where there is one. Nothing fails where that fails, as on a VM."""
        content = json.dumps(body).encode()
        with suppress(ControlError):
            token = self.control.identity_token(vm.name, report_proof.audience(content))
            content = report_proof.sealed(content, token)
        name = quote(names.report_object(vm.pool, vm.id), safe="")
        path = f"/upload/storage/v1/b/{vm.bucket}/o?uploadType=media&name={name}"
        _asked(self.control.url, "POST", path, content)

    def register(self, vm: Vm) -> Registration:
        """Ask the broker for a registration, with a token of the VM's own."""
        address = self._broker(vm.stack)
        if address is None:
            return Registration(reason=f"stack {vm.stack} has no broker here")
        try:
            token = self.control.identity_token(vm.name, address)
        except ControlError as error:
            return Registration(reason=f"the metadata server gives no token: {error}")
        body = json.dumps({"stack": vm.stack, "vm": vm.id, "pool": vm.pool}).encode()
        status, content, headers = _asked(address, "POST", "/v1/registrations", body, token=token)
        try:
            said = json.loads(content)
        except ValueError:
            said = {}
        if status == _OK and said.get("jit"):
            return Registration(jit=said["jit"], runner=said["runner"])
        again = headers.get("retry-after", "")
        return Registration(
            reason=f"the broker gives no registration: {status} {said.get('reason')}: {said.get('message')}",
            again=float(again) if again.isdigit() else None,
        )

    def _object(self, vm: Vm, name: str, blame: str) -> Mapping[str, Any] | None:
        content = self._content(vm, name)
        if content is None:
            return None
        try:
            found = json.loads(content)
        except ValueError:
            raise UnreadableError(blame) from None
        if not isinstance(found, dict):
            raise UnreadableError(blame)
        return found

    def _content(self, vm: Vm, name: str) -> bytes | None:
        """An object's bytes; None for one that is not there. Raises UnreadableError where nobody can say."""
        if (key := (vm.bucket, name)) not in self._read:
            path = f"/storage/v1/b/{vm.bucket}/o/{quote(name, safe='')}?alt=media"
            status, content, _ = _asked(self.control.url, "GET", path)
            if status not in (_OK, 403, 404):
                raise UnreadableError(f"reading {name} was answered with {status}")
            self._read[key] = content if status == _OK else None
        return self._read[key]


def _asked(
    root: str, verb: str, path: str, body: bytes | None = None, *, token: str = ""
) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers by lower-case name; status 0 where nobody answers."""
    parts = urlsplit(root)
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request(verb, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read(), {name.lower(): value for name, value in response.getheaders()}
    except (OSError, http.client.HTTPException):
        return 0, b"", {}
    finally:
        connection.close()
