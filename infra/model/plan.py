"""The neutral shape of what an engine plans and does.

Both engines (the embedded one and the official pulumi CLI) are translated into these types, and
everything that prints or judges a plan reads only these types. Owns the JSON shape of `preview --json`
and `up --json` (see docs/json.md). Does not own how a plan comes about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

from infra.model.json_shape import JsonShape


class Op(StrEnum):
    """What happens to one resource. A replacement is one step, whichever half comes first.

    ADOPT: it stands in the cloud as declared and the state lacks it; the state takes it over. One that differs from its
    declaration is adopted too, and its step is the update or replacement that follows.
    RETAIN: it leaves the program, which asked for it to stay in the cloud.
    """

    SAME = "same"
    ADOPT = "adopt"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    RETAIN = "retain"
    READ = "read"


UNCHANGING: Final = frozenset((Op.SAME, Op.READ))
"""What changes nothing anywhere."""


class Status(StrEnum):
    """How far a step came."""

    PLANNED = "planned"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChange(JsonShape):
    """One property that differs; secrets are already masked as `[secret]`, unknown values as `[unknown]`."""

    kind: Literal["add", "update", "delete"]
    before: Any = None
    after: Any = None
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One resource in a plan or an apply.

    diff: changed properties by path (`labels.owner`, `dataDisks[0].mode`), camelCase as the provider names them.
    replace_reasons: the paths that force a replacement.
    old_inputs, new_inputs: the resource's inputs before and after, None where it does not exist then; secrets masked.
    protect: whether the program protects it from deletion.
    seconds: how long the step took; None unless it ran.
    error: the provider's message when the step failed, without secrets.
    """

    op: Op
    urn: str
    type: str
    name: str
    diff: Mapping[str, PropertyChange] = field(default_factory=dict)
    replace_reasons: tuple[str, ...] = ()
    old_inputs: Mapping[str, Any] | None = None
    new_inputs: Mapping[str, Any] | None = None
    protect: bool = False
    status: Status = Status.PLANNED
    seconds: float | None = None
    error: str | None = None

    @property
    def changes(self) -> bool:
        """Whether it changes anything, in the cloud or in the state."""
        return self.op not in UNCHANGING

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "op": self.op.value,
            "urn": self.urn,
            "type": self.type,
            "name": self.name,
            "diff": {path: change.to_json() for path, change in sorted(self.diff.items())},
            "replaceReasons": list(self.replace_reasons),
        }
        if self.status is not Status.PLANNED:
            body |= {"status": self.status.value, "seconds": self.seconds}
            if self.error is not None:
                body["error"] = self.error
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """Something an engine or the program said. `urn` is empty for the stack as a whole.

    repeats: whether every run says it, since the program does.
    """

    severity: Literal["debug", "info", "warning", "error"]
    message: str
    urn: str = ""
    repeats: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBegun(Diagnostic):
    """That a phase of an apply begins: `phase 1 of 2, shrink: deleting 2 VMs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole plan (steps are PLANNED) or a whole run (steps have ended)."""

    stack: str
    engine: str
    cloud: str
    steps: tuple[Step, ...]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def summary(self) -> dict[str, int]:
        counts = Counter(step.op for step in self.steps)
        shown = (Op.CREATE, Op.ADOPT, Op.UPDATE, Op.REPLACE, Op.DELETE, Op.RETAIN, Op.SAME)
        return {op.value: counts[op] for op in shown}

    @property
    def failed(self) -> bool:
        return any(step.status is Status.FAILED for step in self.steps) or any(
            said.severity == "error" for said in self.diagnostics
        )

    @property
    def complete(self) -> bool:
        """Whether the steps are all there is: not of a preview that broke off, nor of a run that left anything undone.

        How many steps an incomplete preview has is chance: it depends on when the fault was met.
        """
        return not self.failed and all(step.status is not Status.SKIPPED for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A step has begun; sent once per step that is not `same`."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """A step has ended with its status, seconds and error; `same` steps are sent here only."""

    step: Step


Event = StepStarted | StepEnded | Diagnostic
