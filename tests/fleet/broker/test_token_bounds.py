"""Google's keys and tokens: how long they are good, on both sides of each bound."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import jwt
import pytest
import urllib3
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm

from infra.fleet.broker import identity
from infra.fleet.broker.decide import (
    Claims,
    Instance,
)
from infra.fleet.broker.identity import LONGEST_LIFE, MAX_TOKEN, SKEW, GoogleKeys, KeySet, Verifier, fetcher
from infra.fleet.broker.refusals import Reason, Refused

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def refusal(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


# Google's keys


@cache
def private(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def jwk(kid: str | None = "k", bits: int = 2048, **fields: Any) -> dict[str, Any]:
    made = RSAAlgorithm.to_jwk(private(bits).public_key(), as_dict=True)
    named_ = {} if kid is None else {"kid": kid}
    return {**made, **named_, "alg": "RS256", "use": "sig", **fields}


class Google:
    """What its keys' address answers, and how often it was asked."""

    def __init__(self) -> None:
        self.now = NOW
        self.kids = ("k",)
        self.down = False
        self.asked = 0

    def fetch(self) -> KeySet:
        self.asked += 1
        if self.down:
            raise Refused(Reason.GOOGLE_DOWN, "its keys answered 500")
        return KeySet(dict.fromkeys(self.kids, private().public_key()), timedelta(minutes=5))


def test_keys_are_kept_for_their_age_and_an_unknown_one_asked_for_once_a_minute() -> None:
    google = Google()
    keys = GoogleKeys(google.fetch, lambda: google.now)
    for seconds, kid, asked, again in (
        (0, "k", 1, None),
        (1, "new", 1, 59),
        (59, "new", 1, 1),
        (60, "new", 2, None),
        (119, "new", 2, 1),
        (120, "new", 3, None),
        (419, "k", 3, None),
        (420, "k", 4, None),
    ):
        google.now = NOW + SECOND * seconds
        if again is None:
            assert (keys.key(kid) is not None) is (kid == "k")
        else:
            found = refusal(lambda kid=kid: keys.key(kid))
            assert (found.reason, found.again) == (Reason.UNKNOWN_KEY, again)
        assert google.asked == asked, seconds


def test_after_a_failure_google_is_left_alone_for_ten_seconds() -> None:
    google = Google()
    google.down = True
    keys = GoogleKeys(google.fetch, lambda: google.now)
    assert refusal(lambda: keys.key("k")).detail == "its keys answered 500"
    google.now = NOW + SECOND * 9.999
    found = refusal(lambda: keys.key("k"))
    assert (found.reason, found.detail) == (Reason.GOOGLE_DOWN, "its keys could not be had moments ago")
    assert google.asked == 1
    google.now, google.down = NOW + SECOND * 10, False
    assert keys.key("k") is not None
    assert google.asked == 2


def test_a_clock_that_was_set_back_does_not_keep_a_failure_for_ever() -> None:
    google = Google()
    google.down = True
    keys = GoogleKeys(google.fetch, lambda: google.now)
    refusal(lambda: keys.key("k"))
    google.now, google.down = NOW - HOUR, False
    assert keys.key("k") is not None


class Answer:
    """What an HTTP client is answered: a status, a document, and for how long it may be kept."""

    def __init__(self, document: object, *, status: int = 200, cache_control: str | None = None) -> None:
        self.status = status
        self.headers = {} if cache_control is None else {"cache-control": cache_control}
        self._document = document
        self.asked: list[tuple[tuple[str, ...], dict[str, Any]]] = []

    def json(self) -> object:
        if isinstance(self._document, Exception):
            raise self._document
        return self._document

    def request(self, *words: str, **options: Any) -> Answer:
        self.asked.append((words, options))
        if isinstance(self._document, urllib3.exceptions.HTTPError):
            raise self._document
        return self


def fetched(answer: Any) -> KeySet:
    return fetcher("https://keys", answer)()


def test_only_keys_that_may_sign_identity_tokens_are_taken() -> None:
    documents = [
        jwk("good"),
        jwk("no-use", use=None),
        jwk(None),
        jwk("other-use", use="enc"),
        jwk("other-algorithm", alg="RS512"),
        jwk("weak", bits=1024),
    ]
    documents[1].pop("use")
    assert set(fetched(Answer({"keys": documents})).keys) == {"good", "no-use"}


def test_no_more_than_so_many_keys_are_read() -> None:
    found = fetched(Answer({"keys": [jwk(str(number)) for number in range(33)]}))
    assert set(found.keys) == {str(number) for number in range(32)}


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        (None, 300),
        ("public", 300),
        ("max-age=59", 60),
        ("public, max-age=61, must-revalidate", 61),
        ("max-age=86400", 86400),
        ("max-age=86401", 86400),
        ("s-max-age=", 300),
    ],
)
def test_keys_are_kept_as_long_as_google_says_within_a_minute_and_a_day(
    cache_control: str | None, seconds: int
) -> None:
    assert fetched(Answer({"keys": [jwk()]}, cache_control=cache_control)).age == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer({}, status=500), "its keys answered 500"),
        (Answer({"keys": [jwk()]}, status=404), "its keys answered 404"),
        (Answer({}), "its keys: KeyError"),
        (Answer([]), "its keys: TypeError"),
        (Answer({"keys": []}), "its keys: PyJWKSetError"),
        (Answer(ValueError("no JSON")), "its keys: ValueError"),
        (Answer(urllib3.exceptions.HTTPError("down")), "its keys: HTTPError"),
    ],
)
def test_what_is_no_set_of_keys_is_googles_failure(answer: Answer, said: str) -> None:
    found = refusal(lambda: fetched(answer))
    assert (found.reason, found.detail) == (Reason.GOOGLE_DOWN, said)


def test_keys_are_asked_for_without_following_anybody_elsewhere() -> None:
    answer = Answer({"keys": [jwk()]})
    fetched(answer)
    ((words, options),) = answer.asked
    assert words == ("GET", "https://keys")
    assert (options["redirect"], options["retries"], options["timeout"].total) == (False, 1, 5)


# Identity tokens


AT = int(NOW.timestamp())
GOOD: Mapping[str, Any] = {
    "iss": "https://accounts.google.com",
    "aud": "me",
    "email": "a@x",
    "email_verified": True,
    "iat": AT,
    "exp": AT + 3600,
}


def verifier() -> Verifier:
    return Verifier(audience="me", keys=GoogleKeys(lambda: KeySet({"k": private().public_key()}, HOUR), lambda: NOW))


def verified_text(claims: str) -> Claims:
    token = jwt.api_jws.encode(claims.encode(), private(), algorithm="RS256", headers={"kid": "k"})
    return verifier().verify(token, NOW)


def verified(**said: Any) -> Claims:
    return verified_text(json.dumps({key: value for key, value in {**GOOD, **said}.items() if value is not ...}))


@pytest.mark.parametrize("twice", ['"aud": "other", "aud"', '"google": {"a": 1, "a": 2}, "aud"'])
def test_claims_written_twice_are_refused_whoever_signed_them(twice: str) -> None:
    """Of two, readers disagree which counts."""
    text = json.dumps(GOOD).replace('"aud"', twice)
    assert refusal(lambda: verified_text(text)).reason is Reason.BAD_TOKEN


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from([*GOOD, "nbf", "google"]), json_values))
def test_whatever_google_signs_is_believed_or_refused(said: dict[str, Any]) -> None:
    with contextlib.suppress(Refused):
        found = verified(**said)
        assert isinstance(found.email, str)
        assert found.instance is None or found.instance.id.isdigit()


SKEWED, LONGEST = int(SKEW.total_seconds()), int(LONGEST_LIFE.total_seconds())


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"exp": AT - SKEWED + 1}, None),
        ({"exp": AT - SKEWED, "iat": AT - SKEWED}, Reason.EXPIRED),
        ({"iat": AT + SKEWED}, None),
        ({"iat": AT + SKEWED + 1}, Reason.EARLY),
        ({"nbf": AT + SKEWED}, None),
        ({"nbf": AT + SKEWED + 1}, Reason.EARLY),
        ({"exp": AT + LONGEST}, None),
        ({"exp": AT + LONGEST + 1}, Reason.BAD_TOKEN),
        ({"exp": AT + LONGEST - 9, "iat": AT - 10}, Reason.BAD_TOKEN),
        ({"iat": 0, "exp": LONGEST}, Reason.EXPIRED),
        ({"iat": (1 << 33) - 1}, Reason.EARLY),
        ({"iat": 1 << 33}, Reason.BAD_TOKEN),
        ({"iat": -1}, Reason.BAD_TOKEN),
        ({"iat": ...}, Reason.BAD_TOKEN),
        ({"nbf": True}, Reason.BAD_TOKEN),
        ({"iat": 1.5}, Reason.BAD_TOKEN),
        ({"exp": "9999999999"}, Reason.BAD_TOKEN),
        ({"exp": 1 << 62}, Reason.BAD_TOKEN),
        ({"aud": ...}, Reason.FOREIGN_AUDIENCE),
        ({"iss": "accounts.google.com"}, None),
        ({"iss": ...}, Reason.FOREIGN_ISSUER),
        ({"aud": ["me"]}, Reason.FOREIGN_AUDIENCE),
        ({"email": ""}, Reason.NO_ACCOUNT),
        ({"email": 7}, Reason.NO_ACCOUNT),
        ({"email_verified": 1}, Reason.NO_ACCOUNT),
        ({"email_verified": ...}, Reason.NO_ACCOUNT),
        ({"google": 7}, None),
        ({"google": {"compute_engine": 7}}, None),
        ({"google": {"compute_engine": {"instance_id": "1" * 20, "zone": "z"}}}, None),
        ({"google": {"compute_engine": {"instance_id": "1" * 21, "zone": "z"}}}, Reason.BAD_TOKEN),
        ({"google": {"compute_engine": {"instance_id": "", "zone": "z"}}}, Reason.BAD_TOKEN),
        ({"google": {"compute_engine": {"instance_id": "1"}}}, Reason.BAD_TOKEN),
        ({"google": {"compute_engine": {"zone": "z"}}}, Reason.BAD_TOKEN),
    ],
    ids=str,
)
def test_each_claim_holds_up_to_its_bound_and_no_further(said: dict[str, Any], reason: Reason | None) -> None:
    if reason is None:
        assert verified(**said).email == "a@x"
    else:
        assert refusal(lambda: verified(**said)).reason is reason


def test_what_is_believed_of_a_token_is_what_it_says() -> None:
    found = verified(google={"compute_engine": {"instance_id": "12", "zone": "z"}})
    assert (found.email, found.issued, found.expires) == ("a@x", NOW, NOW + HOUR)
    assert found.instance == Instance(id="12", zone="z")
    assert verified().instance is None


def test_the_longest_token_is_read_and_a_longer_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Reader:
        def get_unverified_header(self, token: str) -> dict[str, Any]:
            read.append(len(token))
            return {}

    monkeypatch.setattr(identity, "_JWS", Reader())
    for length in (MAX_TOKEN, MAX_TOKEN + 1):
        assert refusal(lambda length=length: verifier().verify("a" * length, NOW)).reason is Reason.BAD_TOKEN
    assert read == [MAX_TOKEN]


def test_a_token_is_known_by_what_is_signed_of_it_and_not_by_its_signature() -> None:
    one, other = (identity._fingerprint(text) for text in ("a.b.c", "a.b.d"))
    assert one == other == hashlib.sha256(b"a.b").hexdigest()
    assert len(verified().fingerprint) == 64


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [(None, identity.GOOGLE_KEYS), ("http://127.0.0.1:1/", f"http://127.0.0.1:1{identity.LOCAL_KEYS}")],
)
def test_keys_are_those_of_google_or_of_the_local_cloud(
    monkeypatch: pytest.MonkeyPatch, endpoint: str | None, url: str
) -> None:
    asked: list[Any] = []

    def made(address: str, pool: urllib3.PoolManager) -> Callable[[], KeySet]:
        asked.append((address, type(pool)))
        return Google().fetch

    monkeypatch.setattr(identity, "fetcher", made)
    assert identity.google_keys(endpoint, lambda: NOW).key("k") is not None
    assert asked == [(url, urllib3.PoolManager)]


def test_a_token_that_lasts_too_long_says_so() -> None:
    assert refusal(lambda: verified(exp=AT + LONGEST + 1)).detail == "it lasts longer than Google's tokens do"
