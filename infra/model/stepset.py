"""What plans would do to resources, without any value: the same for the same work, so that it can be compared.

Owns what of `preview --json` counts (operation, resource, the properties that differ) and the digest of it. Values are
left out: some are known only to an apply, and a digest may be kept where a value must not be. Creating a resource and
adopting it as it stands count alike: which of both it is depends on whether the controller was there first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.model.json_shape import JsonShape

_QUIET: Final = frozenset({"same", "read"})
_ALIKE: Final = {"adopt": "create"}
_LOSSES: Final = frozenset({"delete", "replace"})


class PlanError(ValueError):
    """A document that is no plan, or one of a plan that could not be made; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSet(JsonShape):
    """stacks: whose plans these are, in their order. steps: how many change something.

    losses: names of what is deleted or replaced. digest: the same for the same steps of the same stacks, in any order.
    """

    JSON = ("digest", "stacks", "steps", "losses")

    stacks: tuple[str, ...]
    steps: int
    losses: tuple[str, ...]
    digest: str


def step_set(plans: Sequence[Any]) -> StepSet:
    """The steps of these documents of `preview --json`, one a stack. Raises PlanError."""
    stacks = tuple(_stack(plan) for plan in plans)
    if len(set(stacks)) < len(stacks):
        raise PlanError("a stack is there twice")
    found = [
        (stack, _ALIKE.get(step["op"], step["op"]), step["urn"], sorted(step["diff"]))
        for stack, plan in zip(stacks, plans, strict=True)
        for step in plan["steps"]
        if step["op"] not in _QUIET
    ]
    losses = [step["name"] for plan in plans for step in plan["steps"] if step["op"] in _LOSSES]
    text = json.dumps([sorted(stacks), sorted(found)], separators=(",", ":"))
    return StepSet(
        stacks=stacks,
        steps=len(found),
        losses=tuple(sorted(losses)),
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )


def why_approval(now: StepSet, reviewed: str | None) -> tuple[str, ...]:
    """Why somebody must agree before `now` is applied; empty where nobody must.

    reviewed: the digest that was seen in the pull request, None where there is none.
    """
    reasons = []
    if now.losses:
        shown = ", ".join(now.losses[:5]) + (f" and {len(now.losses) - 5} more" if len(now.losses) > 5 else "")
        reasons.append(f"deleted or replaced: {shown}")
    if now.steps and reviewed is None:
        reasons.append("no reviewed plan of this head and base is known")
    elif now.steps and reviewed != now.digest:
        reasons.append("the plan is another than the reviewed one")
    return tuple(reasons)


def _stack(plan: Any) -> str:
    if not isinstance(plan, dict) or not isinstance(plan.get("stack"), str) or not isinstance(plan.get("steps"), list):
        raise PlanError("it is not what `preview STACK --json` prints")
    if plan.get("exit", 0) != 0:
        raise PlanError(f"the plan of {plan['stack']} could not be made or is held by a rule")
    if plan.get("complete") is not True:
        raise PlanError(f"the plan of {plan['stack']} is incomplete, so nothing of it can be agreed to: preview again")
    if not all(isinstance(step, dict) and {"op", "urn", "name", "diff"} <= step.keys() for step in plan["steps"]):
        raise PlanError(f"the plan of {plan['stack']} has a step without op, urn, name or diff")
    return plan["stack"]
