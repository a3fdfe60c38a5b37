"""What the decision holds to, whatever comes in whichever order."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from hypothesis import given
from hypothesis import strategies as st

from bench.cloud.tokens import new_key, public_pem, signed
from infra.fleet.broker.decide import (
    A_TURN,
    AN_HOUR,
    APART,
    Binding,
    Claims,
    Instance,
    NodeLife,
    ObservedNode,
    Slot,
    admitted,
)
from infra.fleet.broker.identity import GoogleKeys, KeySet, Verifier
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.broker.registration import PATIENCE
from infra.fleet.google import HURRIED_RETRIES, HURRIED_SECONDS

START = datetime(2026, 11, 21, 8, tzinfo=UTC)


@cache
def rsa_key() -> tuple[RSAPublicKey, str]:
    private = new_key()
    public = load_pem_public_key(public_pem(private).encode())
    assert isinstance(public, RSAPublicKey)
    return public, private


SLOT = Slot(vm="a-0", pool="a", account="a@x", zones=("z",), labels=("tpu",), scope="repos/o/r", group=None)


def claims(token: str, instance: str | None, now: datetime) -> Claims:
    found = Instance(id=instance, zone="z") if instance else None
    return Claims(email="a@x", fingerprint=token, issued=now, expires=now + timedelta(hours=1), instance=found)


def node(life: str) -> ObservedNode:
    return ObservedNode(zone="z", state="READY", life=NodeLife.parse(life), labels={})


asks = st.lists(
    st.tuples(
        st.integers(0, 400),  # seconds since the one before
        st.sampled_from([f"token-{number}" for number in range(6)]),
        st.sampled_from([None, "one", "two"]),
        st.sampled_from(["first", "first", "first", "second"]),
    ),
    max_size=120,
)


@given(asks)
def test_no_token_serves_twice_no_life_has_two_instances_and_nobody_comes_too_often(
    history: list[tuple[int, str, str | None, str]],
) -> None:
    held: Binding | None = None
    now, used = START, set()
    granted: list[tuple[datetime, str | None, str]] = []
    for seconds, token, instance, life in history:
        now += timedelta(seconds=seconds)
        try:
            held = admitted(claims(token, instance, now), node(life), held, now=now)
        except Refused:
            continue
        assert token not in used or now - max(at for at, _, _ in granted) > timedelta(hours=1)
        used.add(token)
        granted.append((now, instance, life))
    lives: list[list[tuple[datetime, str | None]]] = []
    for place, (at, instance, life) in enumerate(granted):
        if place == 0 or granted[place - 1][2] != life:
            lives.append([])
        lives[-1].append((at, instance))
    for one in lives:
        assert len({instance for _, instance in one if instance}) <= 1
        times = [at for at, _ in one]
        assert all(later - earlier >= APART for earlier, later in pairwise(times))
        assert all(sum(at - timedelta(hours=1) < each <= at for each in times) <= AN_HOUR for at in times)


def test_a_registration_is_over_before_the_next_may_begin() -> None:
    """Two at once for one VM would take back one another's runners. A record takes three calls to write."""
    writing, clocks_differ = HURRIED_SECONDS * (1 + HURRIED_RETRIES), 5
    assert timedelta(seconds=PATIENCE + writing + clocks_differ) <= APART


def test_nobody_who_was_counted_is_told_to_come_before_his_turn() -> None:
    sooner = {reason for reason in Reason if reason.again and timedelta(seconds=reason.again) < A_TURN}
    assert sooner == {Reason.CROWDED, Reason.ABSENT, Reason.NOT_READY}, "refused before anything is counted"


def verifier() -> Verifier:
    keys = GoogleKeys(lambda: KeySet({"k": rsa_key()[0]}, timedelta(hours=1)), lambda: START)
    return Verifier(audience="me", keys=keys)


@given(st.one_of(st.text(), st.from_regex(r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}")))
def test_no_text_that_google_did_not_sign_is_believed(text: str) -> None:
    with pytest.raises(Refused) as refused:
        verifier().verify(text, START)
    assert refused.value.reason in (Reason.BAD_TOKEN, Reason.FORGED)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(
    st.dictionaries(
        st.sampled_from(["iss", "aud", "exp", "iat", "nbf", "email", "email_verified", "google"]), json_values
    )
)
def test_whatever_google_signs_is_believed_or_refused(said: dict[str, object]) -> None:
    good = {"iss": "https://accounts.google.com", "aud": "me", "email": "a@x", "email_verified": True}
    times = {"iat": int(START.timestamp()), "exp": int(START.timestamp()) + 60}
    for claims in (said, {**good, **times, **said}):
        with contextlib.suppress(Refused):
            found = verifier().verify(signed(rsa_key()[1], claims, kid="k"), START)
            assert isinstance(found.email, str)
            assert found.instance is None or found.instance.id.isdigit()
