"""What the failure of a create means: no capacity, no quota, no service, or a request that is wrong.

Owns telling them apart. Statuses are those of HTTP; codes are those of google.rpc.Code, in which operations fail. A
stockout comes as an operation's code 8; quota as 429 or as code 8 with `Quota limit` in its text
(cloud.google.com/tpu/docs/troubleshooting, read 2026-11). A 429 that counts requests in time is over with its minute,
and nobody has to free anything (cloud.google.com/docs/quotas/troubleshoot, read 2026-11).
"""

from __future__ import annotations

import re
from typing import Final

from infra.fleet.controller.observed import Trouble

_RESOURCE_EXHAUSTED: Final = 8
_OUTAGES: Final = frozenset({1, 2, 4, 10, 13, 14})
"""CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, ABORTED, INTERNAL, UNAVAILABLE: nothing is wrong with what was asked."""

_TOO_MANY: Final = 429
_TIMEOUT: Final = 408
_FORBIDDEN: Final = 403
_RATE: Final = re.compile(r"\bper (second|minute|hour|day)\b|rate[ _]?limit", re.IGNORECASE)
_A_MINUTE: Final = re.compile(r"\bper (second|minute)\b", re.IGNORECASE)
_SERVER: Final = 500


def of_operation(code: int, text: str) -> Trouble:
    """The trouble of an operation that ended with an error."""
    if code == _RESOURCE_EXHAUSTED and _RATE.search(text):
        return Trouble.OUTAGE
    if code == _RESOURCE_EXHAUSTED:
        return Trouble.QUOTA if "quota" in text.lower() else Trouble.STOCKOUT
    return Trouble.OUTAGE if code in _OUTAGES else Trouble.REFUSED


def of_answer(status: int | None, text: str) -> Trouble:
    """The trouble of a create call that was not taken. status: None where no answer came."""
    if status is None or status >= _SERVER or status == _TIMEOUT:
        return Trouble.OUTAGE
    if status in (_TOO_MANY, _FORBIDDEN) and _RATE.search(text):
        return Trouble.OUTAGE
    if status == _TOO_MANY:
        return Trouble.STOCKOUT if "no more capacity" in text.lower() else Trouble.QUOTA
    return Trouble.REFUSED


def is_over_in_a_minute(status: int | None, text: str) -> bool:
    """Whether a create was refused by a limit that counts the requests of one minute."""
    return status in (_TOO_MANY, _FORBIDDEN) and _A_MINUTE.search(text) is not None
