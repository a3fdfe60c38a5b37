"""Published custom resource definitions, by which rendered objects are validated as an API server would, and stricter.

They are data of others and no part of this repository: TIDEPOOL_CRDS names folders of them as PATH names its own, one
YAML file for each definition as their projects publish them (JobSet 0.12, Kueue 0.19.2, LeaderWorkerSet 0.10). Those of
Dask are in the wheel of dask-kubernetes 2026.3, under operator/deployment/helm/dask-kubernetes-operator/crds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from jsonschema import Draft202012Validator

from tests.lacking import lacking

FOLDERS: Final = "TIDEPOOL_CRDS"


def published() -> tuple[dict[str, Any], ...]:
    """Every definition of these folders; none where none is named."""
    return _read(os.environ.get(FOLDERS, ""))


def faults(body: Mapping[str, Any]) -> list[str]:
    """What the object's own definition has against it, unknown fields too. `lacking` without that definition."""
    group, _, version = body["apiVersion"].partition("/")
    schema = _schemas(os.environ.get(FOLDERS, ""), group, version).get(body["kind"])
    if schema is None:
        lacking(f"{FOLDERS} names no folder with the definition of {body['kind']}.{group}")
    found = Draft202012Validator(schema).iter_errors(body)
    return sorted(f"{'/'.join(map(str, each.absolute_path))}: {each.message[:300]}" for each in found)


@cache
def _read(folders: str) -> tuple[dict[str, Any], ...]:
    paths = [path for folder in filter(None, folders.split(os.pathsep)) for path in sorted(Path(folder).glob("*.yaml"))]
    return tuple(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in paths)


@cache
def _schemas(folders: str, group: str, version: str) -> dict[str, dict[str, Any]]:
    """Strict schemas of a group's kinds."""
    schemas = {}
    for definition in (each["spec"] for each in _read(folders) if each["spec"]["group"] == group):
        of_version = next((each for each in definition["versions"] if each["name"] == version), None)
        if of_version is not None:
            schema = _strict(of_version["schema"]["openAPIV3Schema"])
            # Every object has these, whether its definition says so or not.
            schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {"type": "object"}}
            schemas[definition["names"]["kind"]] = schema
    return schemas


def _strict(node: Any) -> Any:
    """A structural schema in JSON Schema's words, with unknown fields refused."""
    if isinstance(node, list):
        return [_strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {
        key: _strict(value) for key, value in node.items() if not key.startswith("x-kubernetes") and key != "format"
    }
    if node.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    closed = isinstance(node.get("properties"), dict) and node.get("type") == "object"
    if closed and not node.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in node:
        made["additionalProperties"] = False
    if node.get("nullable") and "type" in made:
        made["type"] = [made["type"], "null"]
    return made
