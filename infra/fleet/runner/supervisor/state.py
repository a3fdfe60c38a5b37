"""What a supervisor knows: what its report tells, what outlives its process, and what it waits for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any, Final

from . import limits
from .orders import Common, Own


class Waits(str, Enum):
    """What has to happen before the next decision."""

    NOTHING = "nothing"
    REST = "rest"
    """Until some time, or until there are other orders."""
    CONTAINER = "container"
    HANDED_OVER = "handed over"
    """To a boot, or because a boot halted."""


LASTING: Final = (
    "phase", "reason", "image", "bundle", "runner", "job", "obeyed", "refused", "refusal", "boot", "events", "reported",
    "turn",
)  # fmt: skip
"""What of a state outlives a process."""


@dataclass
class State:
    """phase, reason, image, bundle, runner, job, obeyed, boot, events: as they stand in the report.

    obeyed: None until orders were read for the first time. refused, refusal: the last bundle that did not start, and
        why. reported: when a report was written, by the wall clock, 0 where it failed. turn: before which the broker is
        not asked. All above are LASTING.
    until: of a rest, by the wall clock; None for as long as the orders stay. under: the orders that it rests under.
    looks: at the other hosts of a slice, since they are waited for. dirty: whether something ran on the TPU since it
        was cleaned. delay: the next pause of its own. idle_ends: runners in a row that ended at once without a job.
    began: of the container. job_over: when the job ended by what its runner said. served, stopped: whether it had a
        job, and whether it was stopped. heard: its last line.
    round, round_image: what worker 0 has open, known by its public key; empty where nothing is. joined: the round that
        this host has its container for.
    """

    phase: str = "booting"
    reason: str = ""
    image: str = ""
    bundle: str = ""
    runner: str = ""
    job: str = ""
    obeyed: int | None = None
    refused: str = ""
    refusal: str = ""
    boot: list[dict[str, str]] = field(default_factory=list)
    events: list[dict[str, str]] = field(default_factory=list)
    reported: float = 0.0
    turn: float = 0.0

    own: Own = field(default_factory=Own)
    common: Common = field(default_factory=Common)
    waits: Waits = Waits.NOTHING
    until: float | None = None
    under: str = ""
    looks: int = 0
    dirty: bool = True
    delay: int = limits.FIRST_DELAY
    idle_ends: int = 0
    began: float = 0.0
    job_over: float | None = None
    served: bool = False
    stopped: bool = False
    heard: str = ""
    round: str = ""
    round_image: str = ""
    joined: str = ""

    def reborn(self) -> State:
        """As a process that begins finds it, whatever ended the one before."""
        return State(**{name: getattr(self, name) for name in LASTING})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> State:
        """Of one that another version may have written, what is known here."""
        known = {each.name for each in fields(cls)}
        told: dict[str, Any] = {key: value for key, value in body.items() if key in known}
        told["own"] = Own(**told.get("own", {}))
        common: dict[str, Any] = dict(told.get("common", {}))
        common["serves"] = tuple(common.get("serves", ()))
        told["common"] = Common(**common)
        told["waits"] = Waits(told.get("waits", Waits.NOTHING))
        return cls(**told)
