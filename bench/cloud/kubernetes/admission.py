"""What becomes of an object between a request and its writing: checks, what the server fills in, what may not change.

Owns names, the metadata that the server alone sets, defaults, generations and immutable fields (`rules.yaml`).
"""

from __future__ import annotations

import base64
import re
import uuid
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import schemas
from bench.cloud.kubernetes.kinds import DEFINITIONS, Kind
from bench.cloud.kubernetes.schemas import ANY, fitted, merged
from bench.cloud.kubernetes.status import bad_request, conflict, invalid
from infra.model.facts import read_yaml

_SERVERS: Final = ("name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.:]*[a-z0-9])?")
"""A lowercase RFC 1123 subdomain; names of roles have colons, too (`system:node`)."""


@cache
def _rules() -> JsonObject:
    return read_yaml(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))


def read(kind: Kind, entity: Any, *, strict: bool) -> JsonObject:
    """The object that a client sent, without fields that the kind does not have, which `strict` refuses, and without
    a status. Texts of a Secret that are sent plain stand encoded beside its other data. Raises 400.
    """
    due = {"apiVersion": kind.api_version, "kind": kind.kind}
    if not isinstance(entity, dict) or {**due, **entity} != {**entity, **due}:
        raise bad_request(f"the object provided is no {kind.api_version}, Kind={kind.kind}, which is served here")
    unknown: list[str] = []
    kept = {"metadata": {}, **fitted(kind.schema, entity, unknown), **due}
    if unknown and strict:
        raise bad_request(f"strict decoding error: unknown field {', '.join(unknown)}")
    if kind.status:
        kept.pop("status", None)
    if kind.kind == "Secret" and (plain := kept.pop("stringData", None)):
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        kept["data"] = {**kept.get("data", {}), **encoded}
    return kept


def born(kind: Kind, entity: JsonObject, *, namespace: str, now: str) -> JsonObject:
    """A new object with what the server gives it; a status that nobody but this cloud says stays. Raises 400, 422."""
    metadata = entity["metadata"]
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    name = metadata.get("name") or ""
    if not _NAME.fullmatch(name):
        raise invalid(kind.resource, name, [f'metadata.name: "{name}" is not a lowercase RFC 1123 subdomain'])
    placed = {"namespace": namespace} if kind.namespaced else {}
    given = {**placed, "uid": str(uuid.uuid4()), "creationTimestamp": now, "generation": 1}
    made = _filled(kind, {**entity, "metadata": {**metadata, **given}})
    if kind.kind == DEFINITIONS:
        made["status"] = _established(made, now)
    return made


def changed(kind: Kind, live: JsonObject, entity: JsonObject) -> JsonObject:
    """An object that exists, as a write changes it. Raises 409 and 422."""
    was, metadata = live["metadata"], entity["metadata"]
    if metadata.get("resourceVersion") not in (None, "", was["resourceVersion"]):
        said = "the object has been modified; please apply your changes to the latest version and try again"
        raise conflict(kind.resource, was["name"], said)
    kept = {name: was[name] for name in _SERVERS if name in was}
    status = {"status": live["status"]} if kind.status and "status" in live else {}
    new = _filled(kind, {**entity, **status, "metadata": {**metadata, **kept}})
    fixed = _rules()["fixed"].get(kind.resource, {})
    faults = [
        f"{path}: Invalid value: {said}" for path, said in fixed.items() if value_at(live, path) != value_at(new, path)
    ]
    if faults:
        raise invalid(kind.resource, was["name"], faults)
    if _desired(new) != _desired(live):
        new["metadata"]["generation"] = was.get("generation", 1) + 1
    return new


def _filled(kind: Kind, entity: JsonObject) -> JsonObject:
    """With the defaults of its kind. Raises 422."""
    usual = _rules()["defaults"].get(kind.resource, {})
    filled = merged(ANY, usual, fitted(kind.schema, entity, [], filled=True))
    if faults := schemas.faults(kind.schema, filled):
        raise invalid(kind.resource, entity["metadata"]["name"], faults)
    return filled


def _desired(entity: JsonObject) -> JsonObject:
    return {name: each for name, each in entity.items() if name not in ("metadata", "status")}


def _established(definition: JsonObject, now: str) -> JsonObject:
    """The status of a definition, which is served from the moment it is written."""
    spec = definition["spec"]
    conditions = [
        {"type": each, "status": "True", "reason": "Served", "message": "", "lastTransitionTime": now}
        for each in ("NamesAccepted", "Established")
    ]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    return {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}


def shown_when_deleted(kind: Kind) -> bool:
    """Whether a delete answers with the object rather than with a success."""
    return kind.resource in _rules()["shown_when_deleted"]


def value_at(entity: Any, path: str) -> Any:
    """What stands at a path, `spec.nodeName`; None for nothing."""
    for name in path.split("."):
        entity = entity.get(name) if isinstance(entity, dict) else None
    return entity
