"""What a rule has to say about one subject. Owns the shape and its order; printing is left to those who show it."""

from dataclasses import dataclass
from enum import StrEnum

from infra.model.json_shape import JsonShape


class Level(StrEnum):
    """How much a finding weighs: STOP holds the apply and fails the check, WARN is only said."""

    STOP = "stop"
    WARN = "warn"


@dataclass(frozen=True, order=True)
class Finding(JsonShape):
    """One rule broken by one subject. Sorts by rule, then level and subject, so that equal runs say the same.

    `rule` is the rule's id, `subject` a key path of the stack file or the name of a resource with its type,
    `reason` says what is wrong with this subject and `fix` what to write or to run.
    """

    rule: str
    level: Level
    subject: str
    reason: str
    fix: str

    @property
    def stops(self) -> bool:
        """Whether nothing may be applied while this stands."""
        return self.level is Level.STOP
