"""Who Google says a VM is: identity tokens as a VM's metadata server gives them out, and the keys to check them by.

Owns `/oauth2/v3/certs` (JSON Web Keys, as www.googleapis.com has it), the keys with their rotation, and the control
calls below `/_tidepool/identity/` that sign a token for a node and rotate. Shape of a token:
https://cloud.google.com/compute/docs/instances/verifying-instance-identity, read 2026-11.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any, Final

from infra.local.cloud import media, tokens
from infra.local.cloud.clock import seconds_of
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import ApiError, failed_precondition, invalid
from infra.local.cloud.faults import Target
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.requestlog import RequestLog
from infra.local.cloud.services.tpu_node import Node, named
from infra.local.cloud.wire import Reply, Request, refused, sent

CERTS: Final = "/oauth2/v3/certs"
CONTROL: Final = "/_tidepool/identity/"
ISSUER: Final = "https://accounts.google.com"
LIFE: Final = 3600
"""Seconds that an identity token lasts."""
MAX_AGE: Final = 21_600
"""Seconds for which readers of the keys may keep them; Google says about as many."""
_KEYS = "identity-keys"
_SERVICE = "_tidepool"


class Identity:
    """log: the requests of the whole local cloud."""

    def __init__(self, cloud: Cloud, log: RequestLog) -> None:
        self._cloud = cloud
        self._log = log
        self._commands: dict[str, Callable[[JsonObject], JsonObject]] = {"token": self._token, "rotate": self._rotate}

    def certs(self, request: Request) -> Reply:
        """The public keys, the newest first."""
        began = time.perf_counter()
        with self._cloud.request():
            rule = self._cloud.faults.strike("error", Target("oauth2.certs"), self._cloud.now)
            slow = self._cloud.faults.strike("slow", Target("oauth2.certs"), self._cloud.now)
            keys = [tokens.public_jwk(key["pem"], key["kid"]) for key in self._keys()]
        if rule:
            reply = refused(ApiError(rule.code, rule.message or "The service is currently unavailable."), "oauth2")
        else:
            lasting = {"content-type": "application/json; charset=UTF-8", "cache-control": f"public, max-age={MAX_AGE}"}
            reply = Reply(200, json.dumps({"keys": keys}).encode(), lasting, delay=slow.seconds if slow else 0.0)
        self._log.add(
            time=self._cloud.now,
            verb=request.verb,
            path=request.path,
            method="oauth2.certs",
            status=reply.status,
            milliseconds=(time.perf_counter() - began) * 1000,
            error=rule.message if rule else "",
        )
        return reply

    def control(self, request: Request) -> Reply:
        try:
            return self._obeyed(request)
        except ApiError as refusal:
            return refused(refusal, _SERVICE)

    def _obeyed(self, request: Request) -> Reply:
        command = self._commands.get(request.path.removeprefix(CONTROL))
        if request.verb != "POST" or command is None:
            raise ApiError(404, f"The control surface has no {request.verb} {request.path}.")
        body = media.parsed_json(request.data)
        if not isinstance(body, dict):
            raise invalid("The body is a JSON object.")
        with self._cloud.request():
            return sent(command(body))

    def _token(self, body: JsonObject) -> JsonObject:
        """Of a node's host, or of what runs as an account without being a machine, as a job of Cloud Run does."""
        node = None if "account" in body else self._ready(_text(body, "node"))
        email = node.public["serviceAccount"]["email"] if node else _text(body, "account")
        now = int(self._cloud.now)
        subject = _digits(email, 21)
        claims: dict[str, Any] = {
            "aud": _text(body, "audience"),
            "azp": subject,
            "email": email,
            "email_verified": True,
            "exp": now + LIFE,
            "iat": now,
            "iss": ISSUER,
            "sub": subject,
        }
        if node and body.get("format", "full") == "full":
            claims["google"] = {"compute_engine": self._instance(node, int(body.get("worker", 0)))}
        claims |= body.get("claims", {})
        newest = self._keys()[0]
        written = {name: value for name, value in claims.items() if value is not None}
        return {"token": tokens.signed(newest["pem"], written, kid=newest["kid"])}

    def _ready(self, name: str) -> Node:
        node = named(self._cloud, name)
        email = node.public.get("serviceAccount", {}).get("email")
        if node.state != "READY" or not email:
            raise failed_precondition(f"{node.name} is {node.state} with account {email!r}: it has no metadata server.")
        return node

    def _instance(self, node: Node, worker: int) -> JsonObject:
        """A TPU node's host as a Compute Engine instance: another one in each life of the node."""
        life = f"{node.name} {node.life} {node.public['createTime']} {worker}"
        project = self._cloud.project(node.pot.project)
        return {
            "instance_creation_timestamp": int(seconds_of(node.public["createTime"])),
            "instance_id": _digits(life, 19),
            "instance_name": f"t1v-n-{hashlib.sha256(life.encode()).hexdigest()[:8]}-w-{worker}",
            "project_id": project.id,
            "project_number": project.number,
            "zone": node.pot.zone,
        }

    def _rotate(self, body: JsonObject) -> JsonObject:
        """Sign with a new key from now on. retire: stop publishing the ones before."""
        kept = [] if body.get("retire") else self._keys()
        self._cloud.store.set_setting(_KEYS, [self._made(), *kept])
        return {"kid": self._keys()[0]["kid"]}

    def _keys(self) -> list[JsonObject]:
        """kid and pem (private) of each, the one that signs first; made when first asked for."""
        if (keys := self._cloud.store.setting(_KEYS)) is None:
            keys = [self._made()]
            self._cloud.store.set_setting(_KEYS, keys)
        return keys

    def _made(self) -> JsonObject:
        pem = tokens.new_key()
        return {"kid": hashlib.sha256(tokens.public_pem(pem).encode()).hexdigest()[:40], "pem": pem}


def _digits(seed: str, count: int) -> str:
    """That many digits, the first not zero, always the same for a seed."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest(), "big")
    return str(10 ** (count - 1) + number % (9 * 10 ** (count - 1)))


def _text(body: JsonObject, key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise invalid(f"The body needs '{key}', a text.", field=key)
    return value
