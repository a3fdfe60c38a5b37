"""How a plan that would lose a protected resource is refused: what it would lose, which edit leads there, what to do.

Owns the words, which both engines say. Does not own what is protected (components) nor the refusal itself (engines).
"""

from __future__ import annotations

from collections.abc import Sequence

from infra.model.plan import Step

_WHY = "docs/never.md says what would be lost"
_LET_GO = {
    "gcp:container/cluster:Cluster": ("cluster", "tidepool:cluster"),
    "gcp:redis/instance:Instance": ("store", "tidepool:store"),
    "gcp:firestore/database:Database": ("store", "tidepool:store"),
}
"""What a stack file can let go, by type, and its section there: no other resource's protection is anybody's to lift."""


def undeclared(steps: Sequence[Step]) -> str:
    """Refuses an `up` that would delete these."""
    if len(steps) == 1:
        edit = f"the stack file no longer declares it: put it back{_released(steps)}"
        return f"{label(steps[0])} is protected and would be deleted: {edit} ({_WHY})"
    edit = f"the stack file no longer declares them: put them back{_released(steps)}"
    return f"{len(steps)} protected resources would be deleted: {edit} ({_WHY}){_listed(steps)}"


def kept(steps: Sequence[Step]) -> str:
    """Refuses a `destroy` that would delete these."""
    if len(steps) == 1:
        return f"{label(steps[0])} is protected, so nothing is deleted ({_WHY})"
    return f"{len(steps)} resources are protected, so nothing is deleted ({_WHY}){_listed(steps)}"


def irreplaceable(step: Step, reasons: Sequence[str]) -> str:
    """Refuses an `up` that would replace this one; reasons are the properties that force it."""
    edit = f"take back the edit of {', '.join(reasons)}"
    return f"{label(step)} is protected and would have to be replaced: {edit} ({_WHY})"


def replaced_along(step: Step, other: str) -> str:
    """Refuses an `up` that would replace this one because it replaces another resource, named so."""
    return (
        f"{label(step)} is protected and would have to be replaced together with {other}: take back the edit that "
        f"replaces {other} ({_WHY})"
    )


def refused(step: Step) -> str:
    """What is said of one resource where a message has said the rest."""
    return f"{label(step)} is protected"


def _released(steps: Sequence[Step]) -> str:
    """The documented way for a cluster or a store, where one is among them."""
    found = [(step.name, *_LET_GO[step.type]) for step in steps if step.type in _LET_GO]
    return "".join(
        f"; to let {what} {name} go, set deletion_protection: false in {section} and `up` first"
        for name, what, section in found
    )


def label(step: Step) -> str:
    """A resource as a person knows it: its name and kind."""
    return f"{step.name} ({step.type.rpartition(':')[2]})"


def _listed(steps: Sequence[Step]) -> str:
    return "".join(f"\n  {label}" for label in sorted(map(label, steps)))
