"""What becomes of an object between a request and its writing: checks, what the server fills in, what may not change.

Owns names, the metadata that the server alone sets, defaults, generations and immutable fields (`rules.yaml`). Leaves
schemas of custom kinds to `schemas`, and what else a write leads to to `lifecycle`.
"""

from __future__ import annotations

import base64
import copy
import re
import uuid
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import schemas, shapes
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.patches import merge
from bench.cloud.kubernetes.status import StatusError, bad_request
from infra.model.facts import read_yaml

_SERVERS: Final = ("uid", "creationTimestamp", "resourceVersion", "generation", "deletionTimestamp",
                   "deletionGracePeriodSeconds")  # fmt: skip
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH_SEGMENTS: Final = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
"""Kinds whose names take any text that a path can hold (`system:node`)."""


@cache
def _rules() -> JsonObject:
    return read_yaml(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))


def read(kind: Kind, entity: Any, *, strict: bool, applied: bool) -> JsonObject:
    """The object that a client sent, without fields that the kind does not have.

    strict: refuse unknown fields; else they are dropped. applied: it is a configuration of a server-side apply, of
    which the real server (1.36.3) refuses unknown fields with a 500. Raises 400 and 500.
    """
    if not isinstance(entity, dict):
        raise bad_request("the body of the request is no object")
    said = (entity.get("apiVersion", kind.api_version), entity.get("kind", kind.kind))
    if said != (kind.api_version, kind.kind):
        given, due = f"{said[0]}, Kind={said[1]}", f"{kind.api_version}, Kind={kind.kind}"
        raise bad_request(f"the object provided is unrecognized or of another kind: {given} where {due} is served")
    unknown: list[str] = []
    wrong: list[str] = []
    kept = shapes.pruned(kind.shape, entity, unknown, wrong)
    if wrong and kind.schema is None:
        raise bad_request(f"{kind.api_version}, Kind={kind.kind} cannot be handled: {'; '.join(wrong)}")
    if unknown and strict:
        raise bad_request(f"strict decoding error: unknown field {', '.join(unknown)}")
    if unknown and applied:
        said_of = f"failed to create typed patch object ({kind.api_version}, Kind={kind.kind})"
        raise StatusError(500, f"{said_of}: .{unknown[0]}: field not declared in schema", reason="")
    kept = kept if kind.schema is None else entity
    metadata = {name: each for name, each in (kept.get("metadata") or {}).items() if each is not None}
    return {**kept, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def filled(kind: Kind, entity: JsonObject) -> JsonObject:
    """With the defaults of its kind."""
    if kind.schema is not None:
        return shapes.pruned(kind.shape, shapes.defaulted(kind.shape, entity), [], [])
    usual = _rules()["defaults"].get(kind.named, {})
    entity = encoded(merge(usual, entity)) if kind.kind == "Secret" else merge(usual, entity)
    if kind.kind == "Namespace":
        metadata = entity["metadata"]
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
        entity["metadata"] = {**metadata, "labels": labels}
    return entity


def encoded(secret: JsonObject) -> JsonObject:
    """A Secret, with texts that are sent plain encoded beside its other data."""
    if "stringData" not in secret:
        return secret
    plain = {key: base64.b64encode(text.encode()).decode() for key, text in secret["stringData"].items()}
    return {**{name: each for name, each in secret.items() if name != "stringData"},
            "data": {**secret.get("data", {}), **plain}}  # fmt: skip


def born(kind: Kind, entity: JsonObject, *, namespace: str, now: str) -> JsonObject:
    """A new object with what the server gives it. Raises 400 and 422."""
    metadata = {name: each for name, each in entity["metadata"].items() if name not in _SERVERS}
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if kind.namespaced:
        metadata["namespace"] = namespace
    _insist_on_name(kind, entity)
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now, "generation": 1}
    made = filled(kind, {**entity, "metadata": metadata})
    if kind.status:
        made.pop("status", None)
        if kind.schema is None:
            made["status"] = copy.deepcopy(_rules()["defaults"].get(kind.named, {}).get("status", {}))
    schemas.insist(kind, made)
    return made


def changed(kind: Kind, live: JsonObject, entity: JsonObject) -> JsonObject:
    """An object that exists, as a write changes it. Raises 409 and 422."""
    was, metadata = live["metadata"], dict(entity["metadata"])
    if metadata.get("resourceVersion") not in (None, "", was["resourceVersion"]):
        said = "the object has been modified; please apply your changes to the latest version and try again"
        raise not_fulfilled(kind, was["name"], said)
    kept = {name: was[name] for name in (*_SERVERS, "name", "namespace") if name in was}
    metadata = {**{name: each for name, each in metadata.items() if name not in _SERVERS}, **kept}
    new = filled(kind, {**entity, "metadata": metadata, "apiVersion": kind.api_version})
    if kind.status:
        new.pop("status", None)
        new |= {"status": live["status"]} if "status" in live else {}
    schemas.insist(kind, new)
    _insist_on_fixed(kind, live, new)
    # One more with each change of what is desired.
    generation = was.get("generation", 1) + (_desired(new) != _desired(live))
    return {**new, "metadata": {**new["metadata"], "generation": generation}}


def not_fulfilled(kind: Kind, name: str, said: str) -> StatusError:
    """The refusal of a change that is of another version or object than the one that exists."""
    return StatusError(
        409, f'Operation cannot be fulfilled on {kind.resource} "{name}": {said}', about=kind.about(name)
    )


def _desired(entity: JsonObject) -> JsonObject:
    return {name: each for name, each in entity.items() if name not in ("apiVersion", "metadata", "status")}


def _insist_on_name(kind: Kind, entity: JsonObject) -> None:
    name = entity["metadata"].get("name") or ""
    fits = "/" not in name if kind.kind in _PATH_SEGMENTS else len(name) <= 253 and _SUBDOMAIN.fullmatch(name)
    if not name or not fits:
        raise schemas.invalid(kind, entity, [f'metadata.name: "{name}" is not a lowercase RFC 1123 subdomain'])


def _insist_on_fixed(kind: Kind, old: JsonObject, new: JsonObject) -> None:
    fixed = _rules()["fixed"].get(kind.named, {})
    faults = [
        f"{path}: Invalid value: {said}" for path, said in fixed.items() if value_at(old, path) != value_at(new, path)
    ]
    if faults:
        raise schemas.invalid(kind, old, faults)


def value_at(entity: Any, path: str) -> Any:
    """What stands at a path, `spec.nodeName`; None for nothing."""
    for name in path.split("."):
        entity = entity.get(name) if isinstance(entity, dict) else None
    return entity
