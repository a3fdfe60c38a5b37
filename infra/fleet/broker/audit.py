"""One line for every decision, as JSON that Cloud Logging reads as a structured entry.

Owns which facts are told. A token, a key, a configuration or an address of a caller is never among them: a line is made
of what is named here and of nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from infra.fleet.broker.decide import Claims, RegistrationRequest
from infra.fleet.broker.refusals import Refused
from infra.fleet.broker.requests import ControllerRequest

GRANTED = "granted"
REGISTRATION = "registration"
_LONGEST = 300


@dataclass(slots=True, kw_only=True)
class AuditedRequest:
    """What became known of one request, as far as it came.

    event: what was asked for. registration: of a VM, None where its body could not be read. asked: by the controller.
    """

    event: str = REGISTRATION
    asked: ControllerRequest | None = None
    registration: RegistrationRequest | None = None
    claims: Claims | None = None
    scope: str | None = None
    runner: str | None = None


def entry(audited: AuditedRequest, refused: Refused | None, *, at: datetime, milliseconds: float) -> dict[str, Any]:
    """The line of a decision. What is not known is left out."""
    reason = refused.reason.word if refused else GRANTED
    status = refused.reason.status if refused else 200
    instance = audited.claims.instance if audited.claims else None
    facts = {
        "severity": _severity(status),
        "message": f"{reason}: {_subject(audited)}",
        "time": at.isoformat(),
        "event": audited.event,
        "outcome": "refused" if refused else GRANTED,
        "reason": reason,
        "status": status,
        "detail": refused.detail[:_LONGEST] if refused else None,
        "stack": said.stack if (said := audited.registration or audited.asked) else None,
        "vm": audited.registration.vm if audited.registration else None,
        "pool": audited.registration.pool if audited.registration else None,
        "account": audited.claims.email[:_LONGEST] if audited.claims else None,
        "instance": instance.id[:_LONGEST] if instance else None,
        "zone": instance.zone[:_LONGEST] if instance else None,
        # Enough to see that two lines are of one token, too little to make one.
        "token": audited.claims.fingerprint[:16] if audited.claims else None,
        "scope": audited.scope,
        "number": audited.asked.number if audited.asked else None,
        "runner": audited.runner,
        "milliseconds": round(milliseconds, 1),
    }
    return {key: value for key, value in facts.items() if value not in (None, "", 0)}


def line(facts: dict[str, Any]) -> str:
    """One line, whatever is in the facts."""
    return json.dumps(facts, separators=(",", ":"))


def _subject(audited: AuditedRequest) -> str:
    if audited.event == REGISTRATION:
        return audited.registration.vm if audited.registration else "no VM"
    return audited.runner or f"the {audited.event}"


def _severity(status: int) -> str:
    if status < 400:
        return "INFO"
    return "ERROR" if status >= 500 else "WARNING"
