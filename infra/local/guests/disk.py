"""What stands on a VM's disk, so that its guest goes on from there whoever lets it live, and when."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

JsonObject = dict[str, Any]

LONGEST_STORY: Final = 50
FIRST_DELAY: Final = 5.0
"""Seconds of the first pause of the supervisor's own."""


@dataclass(slots=True, kw_only=True)
class Disk:
    """One making of a VM.

    life: which one. down: whether the machine runs. phase, reason, image, bundle, runner, job, obeyed, boot, events: as
        they stand in its report.
    obeyed, on the disk: None until it read orders for the first time.
    until: cloud time when what it does is over, None where it waits for others. delay: its next pause. turn: cloud
        time before which it does not ask the broker again.
    last_host, gathered: of a slice of several hosts, the one that is ready last, and the cloud time when it is.
    jit: the registration of the runner that it runs, empty for none. number, conclusion: the job's, and how it ends.
    seen: the orders that it waits under. reported: when. drawn: whether faults of a boot were drawn for this life; mute
        and spoiled (why it is unfit) are those that stay.
    """

    life: str
    down: bool = True
    phase: str = ""
    reason: str = ""
    image: str = ""
    bundle: str = ""
    runner: str = ""
    job: str = ""
    obeyed: int | None = None
    boot: list[JsonObject] = field(default_factory=list)
    events: list[JsonObject] = field(default_factory=list)
    began: float = 0.0
    until: float | None = None
    delay: float = FIRST_DELAY
    turn: float = 0.0
    last_host: int = 0
    gathered: float = 0.0
    jit: str = ""
    number: int = 0
    conclusion: str = "success"
    seen: str = ""
    reported: float = 0.0
    drawn: bool = False
    mute: bool = False
    spoiled: str = ""

    @classmethod
    def from_json(cls, body: JsonObject) -> Disk:
        """Of a disk as another version of Tidepool wrote it, what is known here."""
        known = {each.name for each in fields(cls)}
        return cls(**{key: value for key, value in body.items() if key in known})

    def forget_runner(self) -> None:
        self.jit, self.runner, self.job, self.number = "", "", "", 0

    def to_json(self) -> JsonObject:
        return asdict(self)

    def told(self) -> JsonObject:
        """What the VM's report has of it, in its order."""
        said = ("phase", "reason", "image", "bundle", "runner", "job")
        now = {key: getattr(self, key) or None for key in said}
        return {"obeyed": self.obeyed or 0, **now, "boot": self.boot, "events": self.events}
