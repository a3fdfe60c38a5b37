"""Who Google says a VM is: identity tokens as a VM's metadata server gives them out, and the keys to check them by.

Owns `/oauth2/v3/certs` (JSON Web Keys, as www.googleapis.com has it), the keys with their rotation, and the commands
that sign a token for a node and rotate. Shape of a token:
https://cloud.google.com/compute/docs/instances/verifying-instance-identity, read 2026-11.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from bench.cloud import tokens
from bench.cloud.clock import seconds_of
from bench.cloud.cloud import Cloud, obeys
from bench.cloud.errors import JsonObject, failed_precondition
from bench.cloud.faults import FaultTarget
from bench.cloud.requestlog import LoggedRequest
from bench.cloud.services.tpu.node import TpuNode, named
from bench.cloud.wire import HttpRequest, Reply, refused

CERTS: Final = "/oauth2/v3/certs"
ISSUER: Final = "https://accounts.google.com"
LIFE: Final = 3600
"""Seconds that an identity token lasts."""
MAX_AGE: Final = 21_600
"""Seconds for which readers of the keys may keep them; Google says about as many."""
_KEYS = "identity-keys"
_METHOD = "oauth2.certs"


def certs(cloud: Cloud, request: HttpRequest) -> Reply:
    """The public keys, the newest first."""

    def work(entry: LoggedRequest) -> Reply:
        entry.method = _METHOD
        with cloud.request():
            error, slow, _ = cloud.faults.of_request(FaultTarget(_METHOD), cloud.now)
            keys = [tokens.public_jwk(key["pem"], key["kid"]) for key in _keys(cloud)]
        if error:
            raise error.as_error()
        lasting = {"content-type": "application/json; charset=UTF-8", "cache-control": f"public, max-age={MAX_AGE}"}
        return Reply(200, json.dumps({"keys": keys}).encode(), lasting, delay=slow)

    return cloud.log.answered(request, lambda: cloud.now, work, lambda refusal: refused(refusal, "oauth2"))


@obeys
def identity_token(
    cloud: Cloud, node: str, audience: str, *, worker: int = 0, full: bool = True, claims: JsonObject | None = None
) -> str:
    """What the metadata server of a READY node's host answers to `identity?audience=...&format=full`.

    full: with the instance in it. claims: take the place of others of the token; None leaves one out.
    """
    found = _ready(cloud, node)
    instance = {"google": {"compute_engine": _instance(cloud, found, worker)}} if full else {}
    return _signed(cloud, found.public["serviceAccount"]["email"], audience, {**instance, **(claims or {})})


@obeys
def account_token(cloud: Cloud, account: str, audience: str) -> str:
    """What the metadata server of something that runs as this account answers, and that is no VM."""
    return _signed(cloud, account, audience, {})


def _signed(cloud: Cloud, email: str, audience: str, more: JsonObject) -> str:
    now, subject, newest = int(cloud.now), _digits(email, 21), _keys(cloud)[0]
    claims = {
        "aud": audience,
        "azp": subject,
        "email": email,
        "email_verified": True,
        "exp": now + LIFE,
        "iat": now,
        "iss": ISSUER,
        "sub": subject,
        **more,
    }
    written = {name: value for name, value in claims.items() if value is not None}
    return tokens.signed(newest["pem"], written, kid=newest["kid"])


@obeys
def rotate_identity_keys(cloud: Cloud, *, retire: bool = False) -> str:
    """Let Google sign with a new key, whose id is the answer. retire: it stops publishing the others."""
    made = _made()
    cloud.store.set_setting(_KEYS, [made, *([] if retire else _keys(cloud))])
    return made["kid"]


def _ready(cloud: Cloud, name: str) -> TpuNode:
    node = named(cloud, name)
    email = node.public.get("serviceAccount", {}).get("email")
    if node.state != "READY" or not email:
        raise failed_precondition(f"{node.name} is {node.state} with account {email!r}: it has no metadata server.")
    return node


def _instance(cloud: Cloud, node: TpuNode, worker: int) -> JsonObject:
    """A TPU node's host as a Compute Engine instance: another one in each life of the node."""
    life = f"{node.name} {node.life} {node.public['createTime']} {worker}"
    project = cloud.project(node.scope.project)
    return {
        "instance_creation_timestamp": int(seconds_of(node.public["createTime"])),
        "instance_id": _digits(life, 19),
        "instance_name": f"t1v-n-{hashlib.sha256(life.encode()).hexdigest()[:8]}-w-{worker}",
        "project_id": project.id,
        "project_number": project.number,
        "zone": node.scope.zone,
    }


def _keys(cloud: Cloud) -> list[JsonObject]:
    """kid and pem (private) of each, the one that signs first; made when first asked for."""
    if (keys := cloud.store.setting(_KEYS)) is None:
        keys = [_made()]
        cloud.store.set_setting(_KEYS, keys)
    return keys


def _made() -> JsonObject:
    pem = tokens.new_key()
    return {"kid": hashlib.sha256(tokens.public_pem(pem).encode()).hexdigest()[:40], "pem": pem}


def _digits(seed: str, count: int) -> str:
    """That many digits, the first not zero, always the same for a seed."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest(), "big")
    return str(10 ** (count - 1) + number % (9 * 10 ** (count - 1)))
