"""Every way in which the broker says no: THE table, held equal to docs/broker.md by a test.

Owns reasons with their HTTP status, what the caller is told, and when it may ask again. What is told names nothing that
the caller did not say itself; details for people are for the audit line.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from enum import Enum
from typing import Final

from infra.fleet.google import GoogleError


class Reason(Enum):
    """word of the audit line, HTTP status, text for the caller, seconds after which to ask again (0: not said)."""

    # The request
    NOT_FOUND = ("not-found", 404, "There is nothing at this path.", 0)
    WRONG_METHOD = ("wrong-method", 405, "This path has another method, which Allow says.", 0)
    NOT_JSON = ("not-json", 415, "The content type is application/json.", 0)
    TOO_LARGE = ("too-large", 413, "The body is larger than 4 KiB.", 0)
    TOO_SLOW = ("too-slow", 408, "The body did not come within ten seconds.", 0)
    TWO_LENGTHS = ("two-lengths", 400, "The request says its length twice: Content-Length and Transfer-Encoding.", 0)
    MALFORMED = ("malformed", 400, 'The body is {"stack": ..., "vm": ..., "pool": ...}, three names and no more.', 0)
    BAD_QUERY = (
        "bad-query",
        400,
        "The query is stack=..., for a removal scope=... too, for runners scope=... and name=..., and no more.",
        0,
    )
    CROWDED = ("crowded", 503, "Too many requests are waiting.", 5)
    # The token
    NO_TOKEN = ("no-token", 401, "Authorization: Bearer and an identity token of Google's are needed.", 0)
    BAD_TOKEN = ("bad-token", 401, "The token is not a signed token (RS256) of at most 8 KiB.", 0)
    FORGED = ("forged", 401, "The token is not signed by a key that Google publishes.", 0)
    UNKNOWN_KEY = ("unknown-key", 503, "The token's key is unknown yet; Google's keys are read again soon.", 60)
    FOREIGN_ISSUER = ("foreign-issuer", 401, "The token is not issued by https://accounts.google.com.", 0)
    FOREIGN_AUDIENCE = ("foreign-audience", 401, "The token is for another audience than this broker.", 0)
    EXPIRED = ("expired", 401, "The token has expired.", 0)
    EARLY = ("early", 401, "The token is from the future: a clock is off.", 0)
    NO_ACCOUNT = ("no-account", 401, "The token names no verified service account; ask for it with format=full.", 0)
    REPLAYED = ("replayed", 401, "The token was used before; ask the metadata server for a new one.", 0)
    # Who asks for what
    FOREIGN_STACK = ("foreign-stack", 403, "This broker serves another stack.", 0)
    UNKNOWN_ACCOUNT = ("unknown-account", 403, "The token's account is of no pool of this stack.", 0)
    NOT_CONTROLLER = ("not-controller", 403, "The token's account is not this stack's controller.", 0)
    UNKNOWN_VM = ("unknown-vm", 403, "The fleet manifest has no VM of this name.", 0)
    WRONG_POOL = ("wrong-pool", 403, "The VM is of another pool.", 0)
    WRONG_ACCOUNT = ("wrong-account", 403, "The token's account is not the account of this pool.", 0)
    WRONG_ZONE = ("wrong-zone", 403, "The token's instance is in another zone than the VM.", 0)
    DRAINING = ("draining", 403, "The VM or its pool is drained and takes no jobs.", 60)
    NO_HOME = ("no-home", 403, "No runner group is set for the pool's trust, or it serves no repository.", 0)
    UNNAMEABLE = ("unnameable", 403, "The VM's name is too long to be part of a runner's.", 0)
    # What the VM is
    ABSENT = ("absent", 403, "The TPU API knows no such VM.", 30)
    NOT_READY = ("not-ready", 403, "The VM is not READY by the TPU API.", 30)
    UNMANAGED = ("unmanaged", 403, "The VM of that name is not one of this stack and pool.", 0)
    OTHER_INSTANCE = ("other-instance", 403, "The slot is bound to another instance until its VM is made again.", 0)
    OTHER_SLOT = ("other-slot", 403, "The token's instance is bound to another VM.", 0)
    FOREIGN_RUNNER = ("foreign-runner", 403, "The runner is not one of this stack's.", 0)
    SERVING = ("serving", 409, "The VM's runner is online or has a job.", 60)
    TOO_OFTEN = ("too-often", 429, "This is asked too often.", 60)
    # Those behind the broker
    NO_MANIFEST = ("no-manifest", 503, "The fleet manifest is missing or cannot be read.", 60)
    BAD_RECORD = ("bad-record", 503, "A record of the broker's own cannot be read.", 60)
    GOOGLE_DOWN = ("google-down", 503, "Google does not answer the broker.", 60)
    GITHUB_DOWN = ("github-down", 503, "GitHub does not answer the broker.", 60)
    GITHUB_LIMITED = ("github-limited", 503, "GitHub lets the broker wait.", 60)
    GITHUB_REFUSED = ("github-refused", 502, "GitHub refused the broker; its log says why.", 300)
    DEFECT = ("defect", 503, "The broker failed; its log says where.", 60)

    def __init__(self, word: str, status: int, told: str, again: int) -> None:
        self.word = word
        self.status = status
        self.told = told
        self.again = again


LONGEST_WAIT: Final = 3600
"""Seconds; a caller is never told to wait longer."""


class Refused(Exception):  # noqa: N818 - a decision rather than an error
    """The broker says no. detail: for the audit line, never a secret.

    again: seconds after which to ask again, where other than the reason's; kept as whole ones, 0 for not said.
    """

    def __init__(self, reason: Reason, detail: str = "", *, again: float | None = None) -> None:
        self.reason = reason
        self.detail = detail
        self.again = reason.again if again is None else min(max(round(again), 1), LONGEST_WAIT)
        super().__init__(f"{reason.word}: {detail or reason.told}")


@contextmanager
def answered_by_google() -> Generator[None]:
    """A block that asks Google. Raises Refused where Google refuses or does not answer."""
    try:
        yield
    except GoogleError as error:
        raise Refused(Reason.GOOGLE_DOWN, str(error)) from None
