"""A stack's state in Pulumi's own form, as checkpoints hold it and `pulumi stack export` prints it.

Owns the check of that form, and which resources leave a state together. Both engines read states in this form. Each
engine writes its state in its own way. Source of the form: apitype/core.go of pulumi/pulumi, DeploymentV3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Step

_MOST_SHOWN = 10

Texts = list[str] | None
Properties = dict[str, Any] | None


class _Part(BaseModel):
    """Members that are not named here are left to whoever reads them; Go writes null for an empty member."""

    model_config = ConfigDict(strict=True, extra="ignore")


class _Resource(_Part):
    model_config = ConfigDict(alias_generator=to_camel)

    urn: Annotated[str, Field(pattern=r"^urn:pulumi:[^:]+::[^:]+::.+?::.")]
    type: Annotated[str, Field(min_length=1)]
    custom: bool
    id: str | None = None
    parent: str | None = None
    provider: str | None = None
    inputs: Properties = None
    outputs: Properties = None
    dependencies: Texts = None
    property_dependencies: dict[str, Texts] | None = None
    deleted_with: str | None = None
    delete: bool | None = None
    external: bool | None = None
    protect: bool | None = None
    retain_on_delete: bool | None = None
    pending_replacement: bool | None = None
    init_errors: Texts = None
    additional_secret_outputs: Texts = None
    ignore_changes: Texts = None
    replace_on_changes: Texts = None
    replace_with: Texts = None
    aliases: Texts = None
    custom_timeouts: dict[str, float] | None = None
    import_id: Annotated[str | None, Field(alias="importID")] = None
    created: str | None = None
    modified: str | None = None


class _Operation(_Part):
    type: Literal["creating", "updating", "deleting", "reading", "importing"]
    resource: _Resource


class _SecretsState(_Part):
    salt: str | None = None


class _SecretsProvider(_Part):
    type: str | None = None
    state: _SecretsState | None = None


class _Deployment(_Part):
    resources: list[_Resource] | None = None
    pending_operations: list[_Operation] | None = None
    secrets_providers: _SecretsProvider | None = None


def checked_deployment(deployment: object, source: str, fix: str) -> dict[str, Any]:
    """The deployment itself, once both engines can read it. None counts as the empty one.

    source: the file or command that it comes from. fix: what restores the state, as a sentence.
    Raises EngineError with every fault: the index of its resource, and the member.
    """
    checked_form(_Deployment, {} if deployment is None else deployment, source, fix)
    return dict(deployment) if isinstance(deployment, Mapping) else {}


def checked_form(form: type[BaseModel], value: object, source: str, fix: str) -> None:
    """Raises EngineError with every place where the value has another form."""
    try:
        form.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)
        whats = ("Input should be an object" if each["type"] == "model_type" else each["msg"] for each in found)
        faults = [_fault(each["loc"], what, value) for each, what in zip(found, whats, strict=True)]
        more = f"\n  and {len(faults) - _MOST_SHOWN} more" if len(faults) > _MOST_SHOWN else ""
        shown = "\n  ".join(faults[:_MOST_SHOWN])
        raise EngineError(f"{source}: not a valid Pulumi state:\n  {shown}{more}\nFix: {fix}") from None


def _fault(where: tuple[int | str, ...], what: str, value: object) -> str:
    """`resources[3] (a-0): urn: Field required`."""
    if not where:
        return what
    at, rest = str(where[0]), where[1:]
    if rest and isinstance(rest[0], int) and isinstance(value, Mapping):
        entry = value[where[0]][rest[0]]
        urn = entry.get("urn") if isinstance(entry, Mapping) else None
        at += f"[{rest[0]}]" + (f" ({urn.rpartition('::')[2]})" if isinstance(urn, str) and urn else "")
        rest = rest[1:]
    return ": ".join((at, *map(str, rest), what))


def removed_from_state(deployment: Mapping[str, Any] | None, targets: Iterable[str]) -> tuple[Step, ...]:
    """A RETAIN step for each resource that leaves the state, in the state's order. targets: URNs, with wildcards.

    A resource below a target, or one that depends on a target, leaves too: its entry would name a missing resource. A
    provider that needs a target leaves with everything that it created. The stack and all other providers stay.
    """
    wanted = urns.Patterns(targets)
    gone: set[str] = set()
    steps = []
    for resource in (deployment or {}).get("resources") or ():  # a resource follows everything that it needs
        urn, token = resource["urn"], resource["type"]
        named = urn in wanted and token != urns.STACK_TYPE and not urns.is_provider(token)
        if named or gone.intersection(_needs(resource)):
            gone.add(urn)
            protect = bool(resource.get("protect"))
            steps.append(Step(op=Op.RETAIN, urn=urn, type=token, name=urns.name_of(urn), protect=protect))
    return tuple(steps)


def without(exported: Mapping[str, Any], steps: Iterable[Step]) -> dict[str, Any]:
    """An exported state that has none of the resources of these steps."""
    gone = {step.urn for step in steps}
    deployment = exported["deployment"]
    left = [each for each in deployment.get("resources") or () if each["urn"] not in gone]
    return {**exported, "deployment": {**deployment, "resources": left}}


def _needs(resource: Mapping[str, Any]) -> Iterator[str]:
    yield resource.get("parent") or ""
    yield resource.get("deletedWith") or ""
    yield (resource.get("provider") or "").rpartition("::")[0]
    yield from resource.get("dependencies") or ()
    for others in (resource.get("propertyDependencies") or {}).values():
        yield from others or ()
