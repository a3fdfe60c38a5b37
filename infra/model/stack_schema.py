"""A JSON Schema of stack files, for editors: the keys and values of the models, with what their docstrings say.

Owns the form that the YAML language server reads best: draft 7, keys of a mapping by name, no `null`. What a value may
be is said where it is checked (fields); rules between values are in no schema (rules), and `./tidepool validate` tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import cleandoc
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import to_jsonable_python

from infra.model import schema as sections
from infra.model.demand import WRITE
from infra.model.names import PULUMI_PROJECT
from infra.model.schema import StackConfig
from infra.model.stack_text import PULUMI_TOP_LEVEL

FILE: Final = "stacks/schema.json"
"""Beside the stack files, whose first line names it for the YAML language server."""
_TEXT_KEYS: Final = frozenset(("owner", "registry_stack"))
_WHERE: Final = "#/definitions/"
_SHARED: Final = 12
"""Words of an enumeration up to which it stands wherever it is used; a longer one stands once."""
_TYPES: Final = {"string": str, "boolean": bool, "integer": int, "number": int | float}
_JSON_TEXT: Final = {"type": "string", "pattern": r"^\s*[\[{]", "description": "the same as JSON, in one text"}


class _Generator(GenerateJsonSchema):
    """Defaults stand only where they are written as they are kept: 8000 MB are written 8GB."""

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        whole = super().default_schema(schema)
        plain = {key: each for key, each in whole.items() if key != "default"}
        value, kind = whole.get("default"), plain.get("type", "")
        fits = isinstance(value, _TYPES.get(kind, ())) and (kind == "string" or value <= plain.get("maximum", value))
        return whole if fits else plain

    def encode_default(self, dft: Any) -> Any:
        """As pydantic does, but for its adapter for the type of each: none of ours says otherwise how it is written."""
        return to_jsonable_python(dft)


def stack_schema() -> dict[str, Any]:
    """The schema as plain data; equal models give equal data."""
    whole = StackConfig.model_json_schema(ref_template=f"{_WHERE}{{model}}", schema_generator=_Generator)
    shaper = _Shaper(whole.pop("$defs"))
    named = {name: shaper.shaped(each) for name, each in shaper.models.items()}
    named |= {StackConfig.__name__: shaper.shaped(whole), **shaper.shared}
    _explain(named)
    keys = named.pop(StackConfig.__name__)["properties"]
    known = {"gcp:project": keys.pop("project")}
    del keys["stack"]
    for key, shape in keys.items():
        told = {"description": shape.pop("description")}
        known[f"{PULUMI_PROJECT}:{key}"] = told | (shape if key in _TEXT_KEYS else {"anyOf": [shape, _JSON_TEXT]})
    config = {
        "type": "object",
        "description": "What the stack declares (docs/stack-file.md).",
        "properties": known,
        "patternProperties": {"^(gcp|pulumi):": {"description": "a setting of Pulumi or of its Google provider"}},
        "additionalProperties": False,
        "required": [name for name in known if name.partition(":")[2] in whole["required"]],
    }
    theirs = {"description": "Pulumi's own"}
    return {
        "$comment": f"Generated from infra/model/schema by Tidepool's {WRITE}. Do not edit.",
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A stack file of Tidepool",
        "type": "object",
        "properties": {"config": config} | dict.fromkeys(sorted(PULUMI_TOP_LEVEL), theirs),
        "additionalProperties": False,
        "required": ["config"],
        "definitions": dict(sorted(named.items())),
    }


@cache
def schema_text() -> str:
    """The text of FILE, the same in every lab."""
    return json.dumps(stack_schema(), indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class _Shaper:
    """models: as pydantic shapes them. shared: what stands once, by name, and is referred to."""

    models: Mapping[str, Any]
    shared: dict[str, Any] = field(default_factory=dict)

    def shaped(self, schema: Any) -> Any:
        """Without titles and null, with the keys of a mapping by name, and references to what is long."""
        if isinstance(schema, list):
            return [self.shaped(each) for each in schema]
        if not isinstance(schema, Mapping):
            return schema
        named = ("title", "properties", "propertyNames")
        found = {key: self.shaped(each) for key, each in schema.items() if key not in named}
        if "properties" in schema:
            shapes = {key: self.shaped(each) for key, each in schema["properties"].items()}
            found["properties"] = {key: each for key, each in shapes.items() if "not" not in each}
        if (keys := schema.get("propertyNames")) is not None:
            found |= self._by_key(keys, found.get("additionalProperties", {}))
        if found.get("default", "") is None:
            del found["default"]
        if {"type": "null"} in found.get("anyOf", ()):
            found = {**found.pop("anyOf")[0], **found}
        return self._once(found) if len(found.get("enum", ())) > _SHARED else found

    def _by_key(self, keys: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
        words = (self.models[keys["$ref"].removeprefix(_WHERE)] if "$ref" in keys else keys).get("enum")
        by_name = dict.fromkeys(words, self._once(value)) if words else {}  # else by pattern
        return {"properties": by_name, "additionalProperties": False}

    def _once(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        name = re.sub(r"\W+", "-", schema["description"]).strip("-")
        self.shared[name] = schema
        return {"$ref": f"{_WHERE}{name}"}


def _explain(models: Mapping[str, Any]) -> None:
    """Give models and their keys what the docstrings of the sections say of them, sentences after `key:` or `key, key:`
    as those of the key."""
    for name, model in models.items():
        if not hasattr(sections, name):
            continue
        keys = model.get("properties", {})
        text = " ".join(cleandoc(getattr(sections, name).__doc__ or "").split())
        listed = "|".join(keys)
        parts = re.split(rf"(?:^|(?<=[.;] ))((?:{listed})(?:, (?:{listed}))*): ", text) if keys else [text]
        model["description"] = parts[0].strip()
        told = zip(parts[1::2], parts[2::2], strict=True)
        said = {key: what.strip(" ;.") for group, what in told for key in group.split(", ")}
        for key, shape in keys.items():
            if what := "; ".join(filter(None, (said.get(key, ""), _meaning(shape, models)))):
                shape["description"] = what


def _meaning(shape: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """What is said of a value, or of each in a list of them."""
    target = shape.get("items", shape)
    return models.get(target.get("$ref", "").removeprefix(_WHERE), target).get("description", "")
