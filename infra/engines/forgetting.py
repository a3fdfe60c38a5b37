"""What a state lets go of while the cloud keeps it: resources that are named, and whatever in the state needs them.

Owns which they are, read from a state as it is exported, which both engines give in Pulumi's own form. Each engine
writes its state in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.model import urns
from infra.model.plan import Op, Step


def forgotten(deployment: Mapping[str, Any] | None, targets: Iterable[str]) -> tuple[Step, ...]:
    """A RETAIN step for each resource that goes, in the state's order. targets: URNs, with wildcards.

    What is below one of them or depends on it goes too: a state in which it stayed would name what is not there. So
    does a provider that needs one of them, with all that it made; else the stack and its providers stay.
    """
    wanted = urns.Patterns(targets)
    gone: set[str] = set()
    steps = []
    for resource in (deployment or {}).get("resources") or ():  # what something needs stands before it
        urn, token = resource["urn"], resource["type"]
        named = urn in wanted and token != urns.STACK_TYPE and not urns.is_provider(token)
        if named or gone.intersection(_needs(resource)):
            gone.add(urn)
            protect = bool(resource.get("protect"))
            steps.append(Step(op=Op.RETAIN, urn=urn, type=token, name=urns.name_of(urn), protect=protect))
    return tuple(steps)


def without(exported: Mapping[str, Any], steps: Iterable[Step]) -> dict[str, Any]:
    """An exported state that has none of them."""
    gone = {step.urn for step in steps}
    deployment = exported["deployment"]
    left = [each for each in deployment.get("resources") or () if each["urn"] not in gone]
    return {**exported, "deployment": {**deployment, "resources": left}}


def _needs(resource: Mapping[str, Any]) -> Iterator[str]:
    yield resource.get("parent", "")
    yield resource.get("deletedWith", "")
    yield resource.get("provider", "").rpartition("::")[0]
    yield from resource.get("dependencies") or ()
    for others in (resource.get("propertyDependencies") or {}).values():
        yield from others or ()
