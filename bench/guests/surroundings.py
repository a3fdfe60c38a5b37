"""What a guest reaches from its VM: the fleet bucket and the broker, by the requests that a VM makes.

Owns HTTP and the reading of answers, and remembers within one look what the bucket said. Does not own what follows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from bench.cloud.control import Control, ControlError
from bench.cloud.loopback import LoopbackAnswer, NoAnswerError, asked
from infra.fleet.runner.supervisor import report
from infra.fleet.runner.supervisor.effects import Answer, Failed
from infra.fleet.runner.supervisor.jobs import broker_answer
from infra.model import bucket_names

_SECONDS: Final = 90.0
_OK: Final = 200


class UnreadableError(Exception):
    """What should be in the bucket cannot be read."""


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


class Endpoints:
    """broker: the address of a stack's broker, None where there is none. One look's worth: the bucket is read once."""

    def __init__(self, control: Control, broker: Callable[[str], str | None]) -> None:
        self.control = control
        self._broker = broker
        self._read: dict[tuple[str, str], bytes | None] = {}

    def document(self, vm: Vm, name: str) -> Any:
        """An object's JSON; None for one that is not there. Raises UnreadableError."""
        content = self._content(vm, name)
        try:
            return None if content is None else json.loads(content)
        except ValueError:
            raise UnreadableError(f"{name} is not JSON") from None

    def has_bundle(self, vm: Vm, sha256: str) -> bool:
        """Whether the bundle of that checksum is there. Raises UnreadableError."""
        return self._content(vm, bucket_names.bundle_object(sha256)) is not None

    def report(self, vm: Vm, text: str) -> None:
        """Write the VM's report, with its proof where there is one. Nothing fails where that fails, as on a VM."""
        with suppress(ControlError):
            text = report.sealed(text, self.control.identity_token(vm.name, report.audience(text)))
        name = quote(bucket_names.report_object(vm.pool, vm.id), safe="")
        path = f"/upload/storage/v1/b/{vm.bucket}/o?uploadType=media&name={name}"
        _asked(self.control.url, "POST", path, text.encode())

    def register(self, vm: Vm) -> Answer | Failed:
        """Ask the broker for a registration, with a token of the VM's own."""
        address = self._broker(vm.stack)
        if address is None:
            return Failed(f"stack {vm.stack} has no broker here")
        try:
            token = self.control.identity_token(vm.name, address)
        except ControlError as error:
            return Failed(f"the metadata server gives no token: {error}")
        body = json.dumps({"stack": vm.stack, "vm": vm.id, "pool": vm.pool}).encode()
        found = _asked(address, "POST", "/v1/registrations", body, token=token)
        return broker_answer(found.status, found.headers.get("retry-after", ""), found.body)

    def _content(self, vm: Vm, name: str) -> bytes | None:
        """An object's bytes; None for one that is not there. Raises UnreadableError where nobody can say."""
        if (key := (vm.bucket, name)) not in self._read:
            path = f"/storage/v1/b/{vm.bucket}/o/{quote(name, safe='')}?alt=media"
            found = _asked(self.control.url, "GET", path)
            if found.status not in (_OK, 403, 404):
                raise UnreadableError(f"reading {name} was answered with {found.status}")
            self._read[key] = found.body if found.status == _OK else None
        return self._read[key]


def _asked(root: str, verb: str, path: str, body: bytes | None = None, *, token: str = "") -> LoopbackAnswer:
    """Status 0 where nobody answers, as a VM's curl has it."""
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    try:
        return asked(root, verb, path, body, headers, seconds=_SECONDS)
    except NoAnswerError:
        return LoopbackAnswer(0, b"", {})
