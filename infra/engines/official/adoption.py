"""What stands in the cloud and the state lacks, and how the CLI takes it over.

Owns reading what a killed run had in flight from an exported state, the import file, and the state once nothing is in
flight. Does not own the ids of imports (`import_ids`), which VMs stand (`infra.engines.standing`) nor running the CLI
(`recovery`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.engines.import_ids import IMPORT_IDS, import_id
from infra.engines.official import values
from infra.engines.standing import StandingVm, pool_urn, vm_urn
from infra.engines.strays import Recorded
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import VM_TYPE

ATTRIBUTION: Final = "goog-pulumi-provisioned"
"""The label that the provider adds to what it creates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A resource that the cloud may have and the state lacks.

    parent: the component that it belongs to, empty for the stack itself.
    provider: URN of its provider; empty for the default one.
    import_id: what the provider imports it by; empty where creating it again is right in any case.
    inputs: those that it is known to have been made with.
    labels: those of its declared ones that it has; None for a type without labels.
    attributed: whether it has the provider's own label besides.
    """

    urn: str
    type: str
    name: str
    parent: str
    provider: str
    import_id: str
    inputs: Mapping[str, Any]
    labels: Mapping[str, str] | None
    attributed: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A declared resource that the state lacks and that a person says is there. parent: the URN of its component."""

    step: Step
    parent: str


def claims(planned: Plan, patterns: Collection[str]) -> tuple[Claim, ...]:
    """What a plan would make and these patterns name; VMs are `infra.engines.standing`'s.

    Raises EngineError for a resource whose component cannot be told from its URN, by name.
    """
    wanted = urns.Patterns(patterns)
    steps = [step for step in planned.steps if step.op is Op.CREATE and step.urn in wanted and step.type != VM_TYPE]
    return tuple(Claim(step, _parent_of(step, planned)) for step in steps if step.type in IMPORT_IDS)


def _parent_of(step: Step, planned: Plan) -> str:
    """A URN has the types of what it is below, and not their names."""
    above = urns.qualified_type(step.urn).rpartition("$")[0]
    found = [each.urn for each in planned.steps if above and urns.qualified_type(each.urn) == above]
    if len(found) > 1:
        raise EngineError(
            f"{step.name} ({step.type}): {len(found)} components may be the one it belongs to, so it cannot be adopted "
            f"by name; `pulumi import {step.type} {step.name} ID` takes it in"
        )
    return found[0] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """What must be done before the CLI can plan from a state.

    creates: to be imported. again: URNs that the state has, but not as the cloud does: half a replacement whose new
    resource stands, an update or a delete that was in flight. They are read anew.
    in_flight: whether a killed run left operations open.
    """

    creates: tuple[Pending, ...]
    again: frozenset[str]
    in_flight: bool

    def __bool__(self) -> bool:
        return bool(self.creates or self.again or self.in_flight)


def recorded(deployment: Mapping[str, Any]) -> Recorded:
    """What an exported state has; a VM that is replaced and not made again is not whole."""
    return Recorded(
        vms=frozenset(
            resource.get("id", "")
            for resource in _resources(deployment)
            if resource["type"] == VM_TYPE and not (resource.get("pendingReplacement") or resource.get("delete"))
        ),
        urns=frozenset(resource["urn"] for resource in _resources(deployment)),
    )


def half_replaced(deployment: Mapping[str, Any]) -> frozenset[str]:
    """URNs of resources that an earlier run deleted in order to replace them, and did not create again."""
    return frozenset(each["urn"] for each in _resources(deployment) if each.get("pendingReplacement"))


def creating(deployment: Mapping[str, Any], token: str) -> list[Mapping[str, Any]]:
    """The inputs of the resources of a type whose create an exported state has in flight."""
    operations = deployment.get("pending_operations") or ()
    resources = [each["resource"] for each in operations if each["type"] == "creating"]
    return [resource.get("inputs") or {} for resource in resources if resource["type"] == token]


def unsettled(
    stack: str,
    deployment: Mapping[str, Any],
    standing: Sequence[StandingVm],
    foreign: Collection[str] = (),
    claimed: Sequence[Claim] = (),
) -> Unsettled:
    """What an exported state and what stands besides it ask for.

    foreign: ids of VMs that stand and are another's: a create in flight under one is forgotten. claimed: what is to be
    adopted where the cloud has it.

    Raises EngineError for a create in flight whose type is neither importable nor repeatable here, by name.
    """
    known = {resource["urn"]: resource for resource in _resources(deployment)}
    operations = deployment.get("pending_operations") or ()
    flying = {each["resource"]["urn"]: each["resource"] for each in operations if each["type"] == "creating"}
    vms = {vm_urn(stack, each.slot.name): each for each in standing}
    half = {urn for urn in (*flying, *vms) if known.get(urn, {}).get("pendingReplacement")}
    changing = {each["resource"]["urn"] for each in operations if each["type"] in ("updating", "deleting")}
    provider = _default_provider(deployment)
    creates = {urn: _standing(urn, each, stack, provider) for urn, each in vms.items() if urn not in known}
    creates |= {each.step.urn: _claimed(each, provider) for each in claimed if each.step.urn not in known}
    creates |= {urn: _pending(resource) for urn, resource in flying.items() if urn not in known}
    return Unsettled(
        creates=tuple(each for each in creates.values() if each.import_id not in foreign),
        again=frozenset(half | (changing & known.keys())),
        in_flight=bool(operations),
    )


def at_rest(exported: Mapping[str, Any], again: Collection[str]) -> dict[str, Any]:
    """An exported state with no operation in flight, ready for `pulumi stack import`.

    again: URNs whose resources exist, though the state has them as deleted by half a replacement.
    """
    deployment = {key: value for key, value in exported["deployment"].items() if key != "pending_operations"}
    deployment["resources"] = [
        {key: value for key, value in resource.items() if key != "pendingReplacement" or resource["urn"] not in again}
        for resource in _resources(deployment)
    ]
    return {**exported, "deployment": deployment}


def outputs_alone(exported: Mapping[str, Any]) -> dict[str, Any]:
    """An exported state with nothing but the stack's outputs, as references of other stacks read them."""
    deployment = {key: value for key, value in exported["deployment"].items() if key != "pending_operations"}
    stack = [resource for resource in _resources(deployment) if resource["type"] == "pulumi:pulumi:Stack"]
    return {**exported, "deployment": {**deployment, "resources": stack}}


def completed(exported: Mapping[str, Any], taken: Sequence[Pending]) -> dict[str, Any]:
    """An exported state in which what was imported has the inputs and labels that are known of it.

    An import knows neither the inputs that a service may fill in nor which of the labels the program declared, so that
    the next plan would write labels that are there already (seen with pulumi-gcp 10.2, 2026-11).
    """
    known = {each.urn: each for each in taken}
    resources = [_completed(resource, known.get(resource["urn"])) for resource in _resources(exported["deployment"])]
    return {**exported, "deployment": {**exported["deployment"], "resources": resources}}


def _completed(resource: Mapping[str, Any], known: Pending | None) -> Mapping[str, Any]:
    if known is None:
        return resource
    inputs, outputs = {**resource.get("inputs", {}), **known.inputs}, {**resource.get("outputs", {})}
    if known.labels is not None:
        managed = {**known.labels, **({ATTRIBUTION: "true"} if known.attributed else {})}
        inputs["labels"] = outputs["labels"] = dict(known.labels)
        outputs["pulumiLabels"] = values.secret(managed)
    return {**resource, "inputs": inputs, "outputs": outputs}


def import_file(wanted: Sequence[Pending], present: Collection[str]) -> dict[str, Any]:
    """The content of a file for `pulumi import --file`: each resource below its parent, under its own provider.

    present: URNs of the state. A parent that is not among them becomes a component of its own, as the program's is.
    """
    relatives = sorted({urn for each in wanted for urn in (each.parent, each.provider) if urn})
    names = {urn: f"relative{number}" for number, urn in enumerate(relatives)}
    resources: list[dict[str, Any]] = []
    for urn in relatives:
        if urn not in present:
            kind, name = urns.type_of(urn), urns.name_of(urn)
            resources.append({"type": kind, "name": names[urn], "logicalName": name, "component": True})
    for each in wanted:
        entry = {"type": each.type, "name": each.name, "logicalName": each.name, "id": each.import_id}
        if each.parent:
            entry["parent"] = names[each.parent]
        if each.provider:
            entry["provider"] = names[each.provider]
        resources.append(entry)
    return {"nameTable": {name: urn for urn, name in names.items() if urn in present}, "resources": resources}


def missing(wanted: Collection[Pending], output: str) -> tuple[Pending, ...]:
    """Those that the CLI's import said the cloud does not have."""
    return tuple(each for each in wanted if f"resource '{each.import_id}' does not exist" in output)


def _resources(deployment: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return deployment.get("resources") or ()


def _default_provider(deployment: Mapping[str, Any]) -> str:
    """The URN of the default gcp provider that a state has; empty where it has none."""
    found = (
        resource["urn"]
        for resource in _resources(deployment)
        if resource["type"] == "pulumi:providers:gcp" and urns.is_default_provider(resource["urn"])
    )
    return next(found, "")


def _standing(urn: str, standing: StandingVm, stack: str, provider: str) -> Pending:
    return Pending(
        urn=urn,
        type=VM_TYPE,
        name=standing.slot.name,
        parent=pool_urn(stack, standing.slot.pool.name),
        provider=provider,
        import_id=standing.id,
        inputs={"acceleratorType": standing.node["acceleratorType"]} if "acceleratorType" in standing.node else {},
        labels={key: value for key, value in standing.labels.items() if key in standing.slot.labels},
        attributed=ATTRIBUTION in standing.labels,
    )


def _claimed(claim: Claim, provider: str) -> Pending:
    """Nothing is known of its inputs: the next plan says what differs from its declaration."""
    step = claim.step
    return Pending(
        urn=step.urn,
        type=step.type,
        name=step.name,
        parent=claim.parent,
        provider=provider,
        import_id=import_id(step.type, step.name, step.new_inputs or {}),
        inputs={},
        labels=None,
        attributed=False,
    )


def _pending(resource: Mapping[str, Any]) -> Pending:
    kind, name = urns.type_of(resource["urn"]), urns.name_of(resource["urn"])
    inputs = resource.get("inputs") or {}
    return Pending(
        urn=resource["urn"],
        type=kind,
        name=name,
        parent=_importable_parent(resource.get("parent", "")),
        provider=resource.get("provider", "").rpartition("::")[0],
        import_id=import_id(kind, name, inputs),
        inputs=inputs,
        labels=inputs.get("labels"),
        attributed=True,
    )


def _importable_parent(urn: str) -> str:
    """The stack itself is every resource's parent unless another is named, and cannot be named."""
    return "" if "::pulumi:pulumi:Stack::" in urn else urn
