"""Who a VM is, by an identity token of Google's: signature, issuer, audience, time and service account.

Owns what is believed of a token, and the keys: kept as long as Google says, asked for again when a token names one that
is not among them, at most once a minute. https://cloud.google.com/compute/docs/instances/verifying-instance-identity
(read 2026-11) has the claims. What the account may do is `decide`'s.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import jwt
import urllib3
from cryptography.hazmat.primitives.asymmetric import rsa

from infra.fleet.broker.decide import Claims, Instance
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.broker.requests import strict_object

GOOGLE_KEYS: Final = "https://www.googleapis.com/oauth2/v3/certs"
LOCAL_KEYS: Final = "/oauth2/v3/certs"
"""Where they are below the root of what stands in Google's place."""
ISSUERS: Final = ("https://accounts.google.com", "accounts.google.com")
SKEW: Final = timedelta(seconds=60)
"""By how much clocks may differ."""
LONGEST_LIFE: Final = timedelta(hours=1) + SKEW
LEAST_BITS: Final = 2048
MAX_TOKEN: Final = 8192
"""Characters; Google's are about 1,200."""

_AGAIN: Final = timedelta(minutes=1)
_AFTER_FAILURE: Final = timedelta(seconds=10)
_USUAL_AGE: Final = timedelta(minutes=5)
_LONGEST_AGE: Final = timedelta(hours=24)
_MAX_AGE: Final = re.compile(r"\bmax-age=(\d{1,9})\b")
_INSTANCE: Final = re.compile(r"[0-9]{1,20}")
_MOST_KEYS: Final = 32
_RS256: Final = "RS256"
"""The one algorithm: `none`, and HMAC with a public key as its secret, are the known ways to forge a token."""
_JWS: Final = jwt.PyJWS(algorithms=[_RS256])

Keys: TypeAlias = Mapping[str, rsa.RSAPublicKey]


@dataclass(frozen=True, slots=True)
class KeySet:
    """Public keys by id, and how long they may be kept."""

    keys: Keys
    age: timedelta


class GoogleKeys:
    """Google's public keys as they are now. Safe to share between threads: one asks, the others wait for its answer."""

    def __init__(self, fetch: Callable[[], KeySet], clock: Callable[[], datetime]) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._held: Keys = {}
        self._until = self._asked = self._failed = datetime.min.replace(tzinfo=UTC)

    def key(self, kid: str) -> rsa.RSAPublicKey | None:
        """The key of that id, None where Google has none.

        Raises Refused where Google cannot be asked, or was asked too recently to say that it has no such key: a new key
        signs before those who keep the old set have heard of it.
        """
        with self._lock:
            now = self._clock()
            since = now - self._asked
            if now >= self._until or (kid not in self._held and since >= _AGAIN):
                self._refresh(now)
            elif kid not in self._held:
                raise Refused(Reason.UNKNOWN_KEY, again=(_AGAIN - since).total_seconds())
            return self._held.get(kid)

    def _refresh(self, now: datetime) -> None:
        if timedelta(0) <= now - self._failed < _AFTER_FAILURE:
            raise Refused(Reason.GOOGLE_DOWN, "its keys could not be had moments ago")
        try:
            found = self._fetch()
        except Refused:
            self._failed = now
            raise
        self._held, self._until, self._asked = found.keys, now + found.age, now


def fetcher(url: str, http: urllib3.PoolManager) -> Callable[[], KeySet]:
    """Reads keys (JSON Web Keys) from an address. What it makes raises Refused where they cannot be had."""

    def fetch() -> KeySet:
        try:
            response = http.request("GET", url, redirect=False, retries=1, timeout=urllib3.Timeout(total=5))
            if response.status != 200:
                raise Refused(Reason.GOOGLE_DOWN, f"its keys answered {response.status}")
            return KeySet(_keys(response.json()), _age(response.headers.get("cache-control", "")))
        except (urllib3.exceptions.HTTPError, jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(Reason.GOOGLE_DOWN, f"its keys: {type(error).__name__}") from None

    return fetch


def google_keys(endpoint: str | None, clock: Callable[[], datetime]) -> GoogleKeys:
    """Google's keys; of what stands in its place at `endpoint`, where that is given."""
    url = GOOGLE_KEYS if endpoint is None else f"{endpoint.rstrip('/')}{LOCAL_KEYS}"
    return GoogleKeys(fetcher(url, urllib3.PoolManager(num_pools=1)), clock)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """Checks identity tokens for one audience."""

    audience: str
    keys: GoogleKeys = field(repr=False)

    def verify(self, token: str, now: datetime) -> Claims:
        """What is believed of a token. Raises Refused; a token's claims are looked at only once its signature holds.

        PyJWT checks form and signature. The claims are judged here: it takes a list of audiences for one that names us,
        and knows no clock but the machine's.
        """
        claims = self._signed(token)
        if claims.get("iss") not in ISSUERS:
            raise Refused(Reason.FOREIGN_ISSUER)
        if claims.get("aud") != self.audience:
            raise Refused(Reason.FOREIGN_AUDIENCE)
        issued, expires = _timely(claims, now)
        email = claims.get("email")
        if not isinstance(email, str) or not email or claims.get("email_verified") is not True:
            raise Refused(Reason.NO_ACCOUNT)
        return Claims(
            email=email, fingerprint=_fingerprint(token), issued=issued, expires=expires, instance=_instance(claims)
        )

    def _signed(self, token: str) -> dict[str, Any]:
        """The claims that one of Google's keys has signed."""
        try:
            # Before it is read at all: who has no key can send any text.
            if len(token) > MAX_TOKEN:
                raise Refused(Reason.BAD_TOKEN)
            header = _JWS.get_unverified_header(token)
            if header.get("alg") != _RS256 or "kid" not in header or "crit" in header:
                raise Refused(Reason.BAD_TOKEN)
            key = self.keys.key(header["kid"])
            if key is None:
                raise Refused(Reason.FORGED)
            return strict_object(_JWS.decode(token, key, algorithms=[_RS256]))
        except jwt.InvalidSignatureError:
            raise Refused(Reason.FORGED) from None
        except (jwt.PyJWTError, ValueError):
            raise Refused(Reason.BAD_TOKEN) from None


def _fingerprint(token: str) -> str:
    """What stands for a token: of what is signed, whatever becomes of the spelling of its signature."""
    return hashlib.sha256(token.rpartition(".")[0].encode()).hexdigest()


def _timely(claims: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """When the token was made and when it ends.

    Raises Refused where it is over, has not begun, or would last longer than Google's do.
    """
    issued, expires = _moment(claims.get("iat")), _moment(claims.get("exp"))
    if now >= expires + SKEW:
        raise Refused(Reason.EXPIRED)
    if issued > now + SKEW or _moment(claims.get("nbf", claims.get("iat"))) > now + SKEW:
        raise Refused(Reason.EARLY)
    if expires - issued > LONGEST_LIFE:
        raise Refused(Reason.BAD_TOKEN, "it lasts longer than Google's tokens do")
    return issued, expires


def _moment(seconds: object) -> datetime:
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 <= seconds < 1 << 33:
        raise Refused(Reason.BAD_TOKEN)
    return datetime.fromtimestamp(seconds, tz=UTC)


def _instance(claims: Mapping[str, Any]) -> Instance | None:
    """The instance that a token of format=full names; None where there is none."""
    google = claims.get("google")
    found = google.get("compute_engine") if isinstance(google, dict) else None
    if not isinstance(found, dict):
        return None
    number, zone = found.get("instance_id"), found.get("zone")
    if not isinstance(number, str) or not _INSTANCE.fullmatch(number) or not isinstance(zone, str):
        raise Refused(Reason.BAD_TOKEN, "its instance has no number or no zone")
    made = found.get("instance_creation_timestamp")
    return Instance(id=number, zone=zone, made=_moment(made) if isinstance(made, int) else None)


def _keys(document: Any) -> Keys:
    """Those that may sign identity tokens; others in the set sign nothing here."""
    return {
        key.key_id: key.key
        for key in jwt.PyJWKSet(document["keys"][:_MOST_KEYS]).keys
        if key.key_id
        and (key.algorithm_name, key.public_key_use or "sig") == (_RS256, "sig")
        and isinstance(key.key, rsa.RSAPublicKey)
        and key.key.key_size >= LEAST_BITS
    }


def _age(cache_control: str) -> timedelta:
    found = _MAX_AGE.search(cache_control)
    age = timedelta(seconds=int(found[1])) if found else _USUAL_AGE
    return min(max(age, _AGAIN), _LONGEST_AGE)
