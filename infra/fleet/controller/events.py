"""What happened to VMs, runners and limits, as the controller remembers it. `infra.fleet.status.timeline` tells it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from infra.fleet.controller.observed import Trouble

LENGTH: Final = 300
"""Characters of a reason, or of what others said, that are remembered."""


class Verb(StrEnum):
    """What an action does to its subject, as people are told it."""

    ASSIGN = "assign"
    CREATE = "create"
    DELETE = "delete"
    DRAIN = "drain"
    END_DRAIN = "end drain"
    RECREATE = "recreate"
    REMOVE = "remove"
    REPORT = "report"
    RESTART = "restart"


class Result(StrEnum):
    """What an action came to."""

    DONE = "done"
    """It was done, or nothing was left to do; of a create: it was taken, and its operation goes on."""
    DEFERRED = "deferred"
    """Its first half was done (a VM is being deleted), and a later sweep does the rest."""
    CHANGED = "changed"
    """What it was decided about is no longer as it was seen; nothing was done."""
    LEFT = "left"
    """Nothing of it was begun: its place was in trouble already, or the sweep's time was over."""
    FAILED = "failed"


class EventKind(StrEnum):
    SENTENCE = "sentence"
    """Of before kinds were kept: `what` says all of it."""
    LISTED = "listed"
    """A node was seen for the first time, in `zone` as `state`."""
    STATE = "state"
    """A node went from state `before` to `state`."""
    SILENT = "silent"
    """No runner of a VM is online any more."""
    HEARD = "heard"
    """A runner of it is online again."""
    NOT_MADE = "not-made"
    """A create in `zone` came to `trouble`; `what` is the service's."""
    DECIDED = "decided"
    """`verb` is done next, for the reason `what`."""
    CAME_TO = "came-to"
    """`verb` came to `result`; `what` says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEvent:
    """One thing that happened, for people. subject: a VM, pool, runner or limit. what: the text that its kind has.

    Records have `what` of every event: controllers of before kinds were kept read no event without it.
    """

    at: datetime
    subject: str
    what: str
    kind: EventKind = EventKind.SENTENCE
    zone: str = ""
    before: str = ""
    state: str = ""
    trouble: Trouble | None = None
    verb: Verb | None = None
    result: Result | None = None
