"""What a rule has to say about one subject. Owns the shape and its order; printing is left to those who show it."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding weighs: STOP holds the apply and fails the check, WARN is only said."""

    STOP = "stop"
    WARN = "warn"


@dataclass(frozen=True, order=True)
class Finding:
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

    def to_json(self) -> dict[str, str]:
        """The finding as plain values, in the order of its fields."""
        return {key: str(value) for key, value in asdict(self).items()}
