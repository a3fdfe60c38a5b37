"""A token that is not what it should be is refused, whoever signed it."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from jwt.algorithms import RSAAlgorithm
from urllib3 import PoolManager

from bench.cloud import tokens
from infra.fleet.broker.refusals import Reason
from tests.fleet.broker.broker_world import VM, World, refused


@pytest.fixture
def world(still: World) -> World:
    """Refusals change nothing, so one world does for all."""
    return still


def rewritten(token: str, part: int, changes: dict[str, Any]) -> str:
    """A token with another header (part 0) or other claims (1), and the signature that it had."""
    parts = token.split(".")
    said = json.loads(base64.urlsafe_b64decode(parts[part] + "=="))
    parts[part] = base64.urlsafe_b64encode(json.dumps({**said, **changes}).encode()).decode().rstrip("=")
    return ".".join(parts)


def raw_token(header: dict[str, Any], claims: str, sign: Callable[[bytes], bytes]) -> str:
    """A token of any header and any text as its claims."""
    content = b".".join(base64.urlsafe_b64encode(each.encode()).rstrip(b"=") for each in (json.dumps(header), claims))
    return b".".join([content, base64.urlsafe_b64encode(sign(content)).rstrip(b"=")]).decode()


def test_googles_public_key_is_nobodys_shared_secret(world: World) -> None:
    """An HMAC whose secret is the published key, in each of the forms in which a verifier may hold it."""
    claims = json.dumps(tokens.unverified(world.token()))
    jwk = json.loads(PoolManager().request("GET", world.settings.keys_url).data)["keys"][0]
    public = RSAAlgorithm.from_jwk(jwk)
    assert isinstance(public, RSAPublicKey)
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for secret in (pem, pem.strip(), json.dumps(jwk).encode(), jwk["n"].encode()):
        for algorithm in ("HS256", "RS256"):
            header = {"alg": algorithm, "kid": jwk["kid"]}
            forged = raw_token(header, claims, lambda content, by=secret: hmac.digest(by, content, "sha256"))
            refused(world, world.ask(token=forged), Reason.BAD_TOKEN if algorithm == "HS256" else Reason.FORGED)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"kid": None}, Reason.BAD_TOKEN),
        ({"kid": ""}, Reason.UNKNOWN_KEY),
        ({"kid": ["k"]}, Reason.BAD_TOKEN),
        ({"kid": "../../certs"}, Reason.UNKNOWN_KEY),
        ({"crit": ["exp"]}, Reason.BAD_TOKEN),
        ({"crit": ["b64"], "b64": False}, Reason.BAD_TOKEN),
        ({"b64": False}, Reason.BAD_TOKEN),
        ({"jku": "https://example.com/keys"}, Reason.FORGED),
    ],
)
def test_a_header_cannot_choose_how_its_token_is_checked(world: World, header: dict[str, Any], reason: Reason) -> None:
    refused(world, world.ask(token=rewritten(world.token(), 0, header)), reason)


def test_a_token_cannot_bring_its_own_key(world: World) -> None:
    own, claims = tokens.new_key(), json.dumps(tokens.unverified(world.token()))
    key = load_pem_private_key(own.encode(), None)
    assert isinstance(key, RSAPrivateKey)
    googles = jwt.get_unverified_header(world.token())["kid"]
    for kid, reason in (("mine", Reason.UNKNOWN_KEY), (googles, Reason.FORGED)):
        header = {"alg": "RS256", "kid": kid, "jwk": tokens.public_jwk(own, kid)}
        forged = raw_token(header, claims, lambda content: key.sign(content, PKCS1v15(), SHA256()))
        refused(world, world.ask(token=forged), reason)


def test_the_audience_is_this_broker_and_nothing_that_looks_like_it(world: World) -> None:
    us = world.settings.audience
    others = ([us], [us, "x"], us[:-1], f"{us}/", f"{us}.example.com", us.upper(), f" {us}", "", {us: 1})
    for audience in others:
        refused(world, world.ask(token=world.token(claims={"aud": audience})), Reason.FOREIGN_AUDIENCE)


def test_a_stranger_learns_nothing_of_the_fleet(world: World) -> None:
    """Everybody with a Google account can have a token for this audience."""
    strange = {"email": "somebody@example.com"}
    replies = [world.ask(vm, token=world.token(VM, claims=strange)) for vm in (VM, "not-there-0")]
    assert replies[0].body == replies[1].body
    assert world.calls("tpu.projects.locations.nodes.get") == 0
