"""Update masks: whether the paths of one name fields that there are.

Owns the walk of a path through a schema. Which of the fields may change is each service's own rule.
Source: google.aip.dev/161 and protobuf.dev/reference/protobuf/google.protobuf/#field-mask, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.local.cloud.differences import UNDECLARED_QUERY, camel
from infra.local.cloud.discovery import Api, Method, Schema

FORMAT = "google-fieldmask"


def unknown_in_query(method: Method, query: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(parameter, path) for what the masks of a query name and the body of the method does not have."""
    if method.request is None:
        return []
    declared = {**UNDECLARED_QUERY.get(method.id, {}), **method.parameters}
    masks = [name for name, each in declared.items() if each.get("format") == FORMAT and name in query]
    return [(name, path) for name in masks for path in _unknown(method.api, _masked(method), query[name])]


def unknown_in_body(method: Method, body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """As `unknown_in_query`, for a mask that stands in the body beside what it is of."""
    properties = method.api.schemas[method.request]["properties"] if method.request else {}
    masks = [name for name, declared in properties.items() if declared.get("format") == FORMAT and name in body]
    return [(name, path) for name in masks for path in _unknown(method.api, _masked(method), body[name])]


def _masked(method: Method) -> Schema:
    """What a mask of this method is of: the body, or the one message in a body that has a mask beside it."""
    schemas = method.api.schemas
    whole = schemas[method.request or ""]
    properties = whole.get("properties", {})
    wrapped = [each["$ref"] for each in properties.values() if "$ref" in each]
    has_mask = any(each.get("format") == FORMAT for each in properties.values())
    return schemas[wrapped[0]] if has_mask and len(wrapped) == 1 else whole


def _unknown(api: Api, schema: Schema, text: str) -> list[str]:
    paths = [path.strip() for path in text.split(",") if path.strip()]
    return [path for path in paths if path != "*" and not _leads(api, schema, path.split("."))]


def _leads(api: Api, schema: Schema, path: list[str]) -> bool:
    if "$ref" in schema:
        schema = api.schemas[schema["$ref"]]
    # Below a map every key may stand, and nothing below a list or what has any form is known.
    if not path or "additionalProperties" in schema or schema.get("type") == "any":
        return True
    inner = schema.get("properties", {}).get(camel(path[0]))
    return inner is not None and _leads(api, inner, path[1:])
