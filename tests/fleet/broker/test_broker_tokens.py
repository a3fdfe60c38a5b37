"""A token that is not what it should be is refused, whoever signed it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from infra.fleet.broker.refusals import Reason
from infra.local.cloud import tokens
from tests.fleet.broker.broker_world import FORK_ACCOUNT, VM, World, refused


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


@pytest.mark.parametrize("token", ["", "x", "a.b", "a.b.c.d", "é.b.c", "a" * 9000, "e30.e30.AAAA", "W10.e30.AAAA"])
def test_what_is_no_signed_token_is_refused(world: World, token: str) -> None:
    reply = world.send(b'{"stack":"ci","vm":"a","pool":"b"}', token=token.encode().decode("latin-1"))
    refused(world, reply, Reason.BAD_TOKEN if token else Reason.NO_TOKEN)
    assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS512", "ES256", None])
def test_a_token_of_another_algorithm_is_refused(world: World, algorithm: str | None) -> None:
    refused(world, world.ask(token=rewritten(world.token(), 0, {"alg": algorithm})), Reason.BAD_TOKEN)


def test_a_token_signed_by_another_key_is_forged(world: World) -> None:
    good = world.token()
    header = json.loads(base64.urlsafe_b64decode(good.split(".")[0] + "=="))
    forged = tokens.signed(tokens.new_key(), tokens.unverified(good), kid=header["kid"])
    refused(world, world.ask(token=forged), Reason.FORGED)


def test_a_token_whose_claims_were_changed_is_forged(world: World) -> None:
    refused(world, world.ask(token=rewritten(world.token(), 1, {"email": FORK_ACCOUNT})), Reason.FORGED)


def test_a_token_of_a_key_that_google_has_not_is_forged(world: World) -> None:
    refused(world, world.ask(token=rewritten(world.token(), 0, {"kid": "made-up"})), Reason.FORGED)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://accounts.example.com"}, Reason.FOREIGN_ISSUER),
        ({"iss": None}, Reason.FOREIGN_ISSUER),
        ({"aud": "https://another-broker.example.com"}, Reason.FOREIGN_AUDIENCE),
        ({"aud": None}, Reason.FOREIGN_AUDIENCE),
        ({"email": None}, Reason.NO_ACCOUNT),
        ({"email_verified": False}, Reason.NO_ACCOUNT),
        ({"email_verified": "true"}, Reason.NO_ACCOUNT),
        ({"exp": 1}, Reason.EXPIRED),
        ({"exp": None}, Reason.BAD_TOKEN),
        ({"exp": "1e99"}, Reason.BAD_TOKEN),
        ({"exp": 1 << 62}, Reason.BAD_TOKEN),
        ({"exp": 1 << 32}, Reason.BAD_TOKEN),
        ({"iat": 1 << 32}, Reason.EARLY),
        ({"nbf": 1 << 32}, Reason.EARLY),
        ({"google": {"compute_engine": {"instance_id": 7, "zone": "us-west4-a"}}}, Reason.BAD_TOKEN),
        ({"google": {"compute_engine": {"instance_id": "7", "zone": "us-east1-c"}}}, Reason.WRONG_ZONE),
        ({"email": "somebody@example.com"}, Reason.UNKNOWN_ACCOUNT),
        ({"email": FORK_ACCOUNT}, Reason.WRONG_ACCOUNT),
    ],
)
def test_a_token_of_googles_that_says_something_else_is_refused(
    world: World, claims: dict[str, Any], reason: Reason
) -> None:
    refused(world, world.ask(token=world.token(claims=claims)), reason)


def test_a_token_for_several_audiences_is_refused(world: World) -> None:
    token = world.token(claims={"aud": [world.settings.audience, "https://example.com"]})
    refused(world, world.ask(token=token), Reason.FOREIGN_AUDIENCE)


@pytest.mark.parametrize("other", ["{0}x", "{0}/broker", "x{0}", "{0} {0}", "https"])
def test_an_audience_that_only_resembles_the_brokers_is_refused(world: World, other: str) -> None:
    token = world.token(audience=other.format(world.settings.audience))
    refused(world, world.ask(token=token), Reason.FOREIGN_AUDIENCE)


def test_a_token_for_the_beginning_of_the_audience_is_refused(world: World) -> None:
    token = world.token(audience=world.settings.audience[:-1])
    refused(world, world.ask(token=token), Reason.FOREIGN_AUDIENCE)


def test_a_stranger_learns_nothing_of_the_fleet(world: World) -> None:
    """Everybody with a Google account can have a token for this audience."""
    strange = {"email": "somebody@example.com"}
    replies = [world.ask(vm, token=world.token(VM, claims=strange)) for vm in (VM, "not-there-0")]
    assert replies[0].body == replies[1].body
    assert world.calls("tpu.projects.locations.nodes.get") == 0
