"""What a custom kind's schema refuses, in the API server's words; by the library jsonschema.

Owns how a CustomResourceDefinition's dialect is read (`nullable`, `x-kubernetes-int-or-string`) and how faults are
said. Its CEL rules (`x-kubernetes-validations`) are not evaluated here: a real API server does that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.shapes import shape_of_schema
from bench.cloud.kubernetes.status import StatusError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

JsonObject = dict[str, Any]

_REASONS: Final[Mapping[str, str]] = {
    "required": "FieldValueRequired",
    "enum": "FieldValueNotSupported",
    "type": "FieldValueTypeInvalid",
    "maxItems": "FieldValueTooMany",
    "maxLength": "FieldValueTooLong",
    "uniqueItems": "FieldValueDuplicate",
}


def _sort(instance: Any) -> str:
    names = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object"), (list, "array"))
    return next((name for kind, name in names if isinstance(instance, kind)), "null")


@cache
def _dialect() -> Any:
    """The library's validator with this dialect's types. Few clouds have a custom kind, and the library's import is a
    fifth of what one takes to start."""
    from jsonschema import Draft4Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def of_type(validator: Any, types: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
        if instance is None and schema.get("nullable"):
            return
        if schema.get("x-kubernetes-int-or-string") and isinstance(instance, str | int):
            return
        if not validator.is_type(instance, types):
            yield ValidationError(f'in body must be of type {types}: "{_sort(instance)}"')

    return extend(Draft4Validator, {"type": of_type})


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    return _dialect()(json.loads(schema))


def insist(kind: Kind, entity: JsonObject) -> None:
    """Refuse what the schema of a custom kind does not allow. Raises 422 with every fault as a cause."""
    if kind.schema is None:
        return
    body = {name: each for name, each in entity.items() if name not in ("apiVersion", "kind", "metadata")}
    schema = {**kind.schema, "properties": {
        name: each for name, each in kind.schema.get("properties", {}).items()
        if name not in ("apiVersion", "kind", "metadata")
    }}  # fmt: skip
    found = sorted(_validator(json.dumps(schema)).iter_errors(body), key=lambda error: list(map(str, error.path)))
    if found:
        raise invalid(kind, entity["metadata"].get("name", ""), [_cause(error) for error in found])


def invalid(kind: Kind, name: str, causes: list[JsonObject]) -> StatusError:
    """The refusal of an object by its fields."""
    said = [f"{each['field']}: {each['message']}" if each["field"] else each["message"] for each in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    about = {"group": kind.group, "kind": kind.kind, "name": name}
    return StatusError(422, f'{kind.named} "{name}" is invalid: {text}', about=about, causes=causes)


def insist_structural(definition: JsonObject) -> None:
    """Refuse a definition without a schema for each version, or whose schema has no shape. Raises 422."""
    for at, version in enumerate(definition.get("spec", {}).get("versions", ())):
        schema = version.get("schema", {}).get("openAPIV3Schema")
        if not isinstance(schema, dict):
            where = f"spec.versions[{at}].schema.openAPIV3Schema"
            cause = {"reason": "FieldValueRequired", "message": "Required value: schemas are required", "field": where}
            name = definition["metadata"].get("name", "")
            text = f'CustomResourceDefinition.apiextensions.k8s.io "{name}" is invalid: {where}: {cause["message"]}'
            raise StatusError(422, text, causes=[cause])
        shape_of_schema(schema, root=True)


def _cause(error: ValidationError) -> JsonObject:
    field = _path(error)
    reason = _REASONS.get(str(error.validator), "FieldValueInvalid")
    if error.validator == "required":
        # jsonschema says the missing name in its message alone: 'x' is a required property.
        missing = error.message.split("'")[1]
        field = f"{field}.{missing}" if field else missing
        return {"reason": reason, "message": "Required value", "field": field}
    value = json.dumps(error.instance) if not isinstance(error.instance, dict | list) else _sort(error.instance)
    if error.validator == "enum":
        allowed = ", ".join(json.dumps(each) for each in error.validator_value)
        return {"reason": reason, "message": f"Unsupported value: {value}: supported values: {allowed}", "field": field}
    told = error.message if error.validator == "type" else f"should match {error.validator}: {error.validator_value}"
    return {"reason": reason, "message": f"Invalid value: {value}: {field} {told}", "field": field}


def _path(error: ValidationError) -> str:
    said = ""
    for each in error.absolute_path:
        said += f"[{each}]" if isinstance(each, int) else f".{each}" if said else str(each)
    return said
