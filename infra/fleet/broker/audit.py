"""One line for every decision, as JSON that Cloud Logging reads as a structured entry.

Owns which facts are told. A token, a key, a configuration or an address of a caller is never among them: a line is made
of what is named here and of nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from infra.fleet.broker.decide import Claims, Request
from infra.fleet.broker.errands import Errand
from infra.fleet.broker.refusals import Refused

GRANTED = "granted"
REGISTRATION = "registration"
_LONGEST = 300


@dataclass(slots=True, kw_only=True)
class Story:
    """What became known of one request, as far as it came.

    event: what was asked for. request: of a VM, None where its body could not be read. errand: of the controller.
    """

    event: str = REGISTRATION
    errand: Errand | None = None
    request: Request | None = None
    claims: Claims | None = None
    scope: str | None = None
    runner: str | None = None


def entry(story: Story, refused: Refused | None, *, at: datetime, milliseconds: float) -> dict[str, Any]:
    """The line of a decision. What is not known is left out."""
    reason = refused.reason.word if refused else GRANTED
    status = refused.reason.status if refused else 200
    instance = story.claims.instance if story.claims else None
    facts = {
        "severity": _severity(status),
        "message": f"{reason}: {_subject(story)}",
        "time": at.isoformat(),
        "event": story.event,
        "outcome": "refused" if refused else GRANTED,
        "reason": reason,
        "status": status,
        "detail": refused.detail[:_LONGEST] if refused else None,
        "stack": said.stack if (said := story.request or story.errand) else None,
        "vm": story.request.vm if story.request else None,
        "pool": story.request.pool if story.request else None,
        "account": story.claims.email[:_LONGEST] if story.claims else None,
        "instance": instance.id[:_LONGEST] if instance else None,
        "zone": instance.zone[:_LONGEST] if instance else None,
        # Enough to see that two lines are of one token, too little to make one.
        "token": story.claims.fingerprint[:16] if story.claims else None,
        "scope": story.scope,
        "number": story.errand.number if story.errand else None,
        "runner": story.runner,
        "milliseconds": round(milliseconds, 1),
    }
    return {key: value for key, value in facts.items() if value not in (None, "", 0)}


def line(facts: dict[str, Any]) -> str:
    """One line, whatever is in the facts."""
    return json.dumps(facts, separators=(",", ":"))


def _subject(story: Story) -> str:
    if story.event == REGISTRATION:
        return story.request.vm if story.request else "no VM"
    return story.runner or f"the {story.event}"


def _severity(status: int) -> str:
    if status < 400:
        return "INFO"
    return "ERROR" if status >= 500 else "WARNING"
