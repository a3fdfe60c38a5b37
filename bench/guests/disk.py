"""What stands on a VM's disk, so that its guest goes on from there whoever lets it live, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from infra.fleet.runner.supervisor.state import State, Waits
from infra.model.json_shape import JsonShape

JsonObject = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Disk(JsonShape):
    """One making of a VM.

    life: which one. down: whether the machine runs. state: its supervisor's, or its boot's.
    began, boots: cloud time when a boot began and when it is over; boots is None where none is under way. starting: the
        bundle that boots, empty where the stub looks for one. current: the bundle whose supervisor was started last,
        empty before the first.
    jit: the registration of the runner that it runs, empty for none. number, conclusion, ends: the job's, how it ends,
        and the cloud time when, None where nobody knows.
    drawn: whether faults of a boot were drawn for this life; mute and spoiled (why it is unfit) are those that stay.
    """

    life: str
    down: bool = True
    state: State = field(default_factory=State)
    began: float = 0.0
    boots: float | None = None
    starting: str = ""
    current: str = ""
    jit: str = ""
    number: int = 0
    conclusion: str = "success"
    ends: float | None = None
    drawn: bool = False
    mute: bool = False
    spoiled: str = ""

    @classmethod
    def from_json(cls, body: JsonObject) -> Disk:
        """One that another version of Tidepool wrote boots again."""
        try:
            told: dict[str, Any] = {**body, "state": State.from_json(body["state"])}
            return cls(**told)
        except (TypeError, KeyError):
            return cls(life=body["life"], jit=body.get("jit", ""), drawn=True)

    def forget_runner(self) -> None:
        self.jit, self.number, self.ends = "", 0, None

    @property
    def until(self) -> float | None:
        """Cloud time when what it does is over; None where it waits for others."""
        if self.down:
            return None
        if self.boots is not None:
            return self.boots
        if self.state.waits is Waits.CONTAINER:
            return self.ends
        return self.state.until if self.state.waits is Waits.REST else None
