"""The condensed kinds of the store against what others made of the same release of Kubernetes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes_validate

from bench.cloud import kubernetes as store
from infra.tools.kubernetes.condense import SERVED, Condensed

BUILTIN = json.loads((Path(store.__file__).parent / "builtin.json").read_text(encoding="utf-8"))
SCHEMAS = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / "v1.36.0-local" / "_definitions.json"


def without_null(value: Any) -> Any:
    """A JSON schema as OpenAPI writes it, where no type may be null."""
    if isinstance(value, list):
        return [without_null(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: without_null(each) for key, each in value.items()}
    if isinstance(value.get("type"), list):
        (found["type"],) = (each for each in value["type"] if each != "null")
    return found


def test_types_are_those_of_the_release_that_the_control_plane_is_built_of() -> None:
    definitions = without_null(json.loads(SCHEMAS.read_text(encoding="utf-8"))["$defs"])
    condensed = Condensed({"definitions": definitions, "paths": {}})
    full = {".".join(name.split(".")[-3:]): name for name in definitions}
    for row in BUILTIN["kinds"]:
        condensed.named(full[row["type"]])
    assert condensed.types == BUILTIN["types"]
    wanted = [(version, kind) for version, kinds in SERVED.items() for kind in kinds.split()]
    assert [(row["apiVersion"], row["kind"]) for row in BUILTIN["kinds"]] == wanted
