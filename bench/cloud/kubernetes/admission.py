"""What becomes of an object between a request and its writing: checks, what the server fills in, what may not change.

Owns names, the metadata that the server alone sets, defaults, generations and immutable fields (`rules.yaml`). Leaves
schemas of custom kinds to `schemas`, and what else a write leads to to `lifecycle`.
"""

from __future__ import annotations

import base64
import copy
import re
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.cloud.kubernetes import kinds, schemas, shapes
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.patches import merge
from bench.cloud.kubernetes.status import StatusError, bad_request
from infra.model.facts import read_yaml

JsonObject = dict[str, Any]

_SERVERS: Final = ("uid", "creationTimestamp", "resourceVersion", "generation", "selfLink", "deletionTimestamp",
                   "deletionGracePeriodSeconds")  # fmt: skip
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH_SEGMENTS: Final = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
"""Kinds whose names take any text that a path can hold (`system:node`)."""


@cache
def _rules() -> JsonObject:
    return read_yaml(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))


def read(kind: Kind, entity: Any, *, strictness: str, warn: Callable[[str], None]) -> JsonObject:
    """The object that a client sent, without fields that the kind does not have.

    strictness: of `fieldValidation`: Strict refuses unknown fields, Warn tells of them, Ignore drops them silently.
    Raises 400.
    """
    if not isinstance(entity, dict):
        raise bad_request("the body of the request is no object")
    said = (entity.get("apiVersion", kind.api_version), entity.get("kind", kind.kind))
    if said != (kind.api_version, kind.kind):
        given, due = f"{said[0]}, Kind={said[1]}", f"{kind.api_version}, Kind={kind.kind}"
        raise bad_request(f"the object provided is unrecognized or of another kind: {given} where {due} is served")
    wrong = list(shapes.mistyped(kind.shape, entity)) if kind.schema is None else []
    if wrong:
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: json: {"; ".join(wrong)}'
        )
    unknown = [f'unknown field "{path}"' for path in shapes.unknown(kind.shape, entity)]
    if unknown and strictness == "Strict":
        raise bad_request(f"strict decoding error: {', '.join(unknown)}")
    if strictness == "Warn":
        for each in unknown:
            warn(each)
    kept = _without_nulls(shapes.pruned(kind.shape, entity)) if kind.schema is None else entity
    metadata = kept.get("metadata") or {}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {name: each for name, each in metadata.items() if each is not None},
        **{name: each for name, each in kept.items() if name not in ("apiVersion", "kind", "metadata")},
    }


def _without_nulls(value: Any) -> Any:
    """A built-in kind's field that is null is one that is not there."""
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def filled(kind: Kind, entity: JsonObject) -> JsonObject:
    """With the defaults of its kind."""
    if kind.schema is not None:
        return shapes.pruned(kind.shape, shapes.defaulted(kind.shape, entity))
    usual = _rules()["defaults"].get(kind.named, {})
    entity = merge(copy.deepcopy(usual), entity)
    if kind.kind == "Secret":
        entity = encoded(entity)
    if kind.kind == "Namespace":
        labels = {**(entity["metadata"].get("labels") or {}), "kubernetes.io/metadata.name": entity["metadata"]["name"]}
        entity["metadata"] = {**entity["metadata"], "labels": labels}
    return entity


def encoded(secret: JsonObject) -> JsonObject:
    """A Secret, with texts that are sent plain encoded beside its other data."""
    if "stringData" not in secret:
        return secret
    plain = {key: base64.b64encode(text.encode()).decode() for key, text in secret["stringData"].items()}
    return {**{name: each for name, each in secret.items() if name != "stringData"},
            "data": {**secret.get("data", {}), **plain}}  # fmt: skip


def born(kind: Kind, entity: JsonObject, *, namespace: str, now: str, number: Callable[[], int]) -> JsonObject:
    """A new object with what the server gives it. Raises 400 and 422."""
    metadata = {name: each for name, each in entity["metadata"].items() if name not in _SERVERS}
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if kind.namespaced:
        metadata["namespace"] = namespace
    if not metadata.get("name") and (prefix := metadata.get("generateName")):
        metadata["name"] = f"{prefix}{_suffix(number())}"
    _insist_on_name(kind, metadata.get("name"))
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now, "generation": 1}
    made = filled(kind, {**entity, "metadata": metadata})
    if kind.status:
        made.pop("status", None)
        if kind.schema is None:
            made["status"] = copy.deepcopy(_rules()["defaults"].get(kind.named, {}).get("status", {}))
    schemas.insist(kind, made)
    if kind.kind == kinds.DEFINITIONS:
        _insist_on_definition(made)
    return made


def changed(kind: Kind, live: JsonObject, entity: JsonObject, *, status: bool) -> JsonObject:
    """An object that stands, as a write changes it. status: through that subresource. Raises 409 and 422."""
    was, metadata = live["metadata"], dict(entity["metadata"])
    _insist_on_version(kind, was, metadata)
    if metadata.get("uid", was["uid"]) != was["uid"]:
        said = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {was['uid']}"
        raise not_fulfilled(kind, was["name"], said)
    kept = {name: was[name] for name in (*_SERVERS, "name", "namespace", "generateName") if name in was}
    metadata = {**{name: each for name, each in metadata.items() if name not in _SERVERS}, **kept}
    if status:
        new: JsonObject = {**live, "metadata": {**was, "managedFields": metadata.get("managedFields", [])}}
        new.pop("status", None)
        if "status" in entity:
            new["status"] = entity["status"]
        new["apiVersion"] = kind.api_version
    else:
        new = filled(kind, {**entity, "metadata": metadata})
        if kind.status:
            new.pop("status", None)
            if "status" in live:
                new["status"] = live["status"]
    schemas.insist(kind, new)
    _insist_on_fixed(kind, live, new)
    return {**new, "metadata": {**new["metadata"], "generation": _generation(live, new)}}


def _generation(live: JsonObject, new: JsonObject) -> int:
    """One more with each change of what is desired."""
    return live["metadata"].get("generation", 1) + (_desired(new) != _desired(live))


def _insist_on_version(kind: Kind, was: JsonObject, metadata: JsonObject) -> None:
    """Who says which version was read may change no other."""
    if metadata.get("resourceVersion") not in (None, "", was["resourceVersion"]):
        said = "the object has been modified; please apply your changes to the latest version and try again"
        raise not_fulfilled(kind, was["name"], said)


def not_fulfilled(kind: Kind, name: str, said: str) -> StatusError:
    """The refusal of a change that is of another version or object than the one that stands."""
    return StatusError(
        409, f'Operation cannot be fulfilled on {kind.resource} "{name}": {said}', about=kind.about(name)
    )


def _desired(entity: JsonObject) -> JsonObject:
    return {name: each for name, each in entity.items() if name not in ("apiVersion", "metadata", "status")}


def _insist_on_name(kind: Kind, name: Any) -> None:
    where = {"field": "metadata.name"}
    if not name:
        message = "Required value: name or generateName is required"
        raise schemas.invalid(kind, "", [{"reason": "FieldValueRequired", "message": message, **where}])
    if kind.kind in _PATH_SEGMENTS:
        fits = "/" not in name and "%" not in name and name not in (".", "..")
    else:
        fits = len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None
    if not fits:
        message = (
            f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
            "characters, '-' or '.', and must start and end with an alphanumeric character"
        )
        raise schemas.invalid(kind, name, [{"reason": "FieldValueInvalid", "message": message, **where}])


def _insist_on_definition(definition: JsonObject) -> None:
    schemas.insist_structural(definition)
    spec, name = definition["spec"], definition["metadata"]["name"]
    if name != (due := f"{spec['names']['plural']}.{spec['group']}"):
        message = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group: {due}'
        cause = {"reason": "FieldValueInvalid", "message": message, "field": "metadata.name"}
        raise schemas.invalid(kinds.of_kind(kinds.DEFINITIONS), name, [cause])


def _insist_on_fixed(kind: Kind, old: JsonObject, new: JsonObject) -> None:
    causes = [
        _forbidden(path, f"Invalid value: {said}", "FieldValueInvalid")
        for path, said in _rules()["fixed"].get(kind.named, {}).items()
        if _at(old, path) != _at(new, path)
    ]
    if rule := _rules()["fixed_but"].get(kind.named):
        before, after = (_at(each, rule["at"]) or {} for each in (old, new))
        if any(before.get(name) != after.get(name) for name in {*before, *after} - set(rule["except"])):
            causes.append(_forbidden(rule["at"], f"Forbidden: {rule['said']}", "FieldValueForbidden"))
    if old.get("immutable") and (old.get("data") != new.get("data") or not new.get("immutable")):
        said = "Forbidden: field is immutable when `immutable` is set"
        causes.append(_forbidden("data", said, "FieldValueForbidden"))
    if causes:
        raise schemas.invalid(kind, old["metadata"]["name"], causes)


def _forbidden(field: str, message: str, reason: str) -> JsonObject:
    return {"reason": reason, "message": message, "field": field}


def _at(entity: Any, path: str) -> Any:
    for name in path.split("."):
        entity = entity.get(name) if isinstance(entity, dict) else None
    return entity


def _suffix(number: int) -> str:
    """Five characters of those that the API server takes, another for each number."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    said, number = "", (number * 7_368_787) % len(alphabet) ** 5
    for _ in range(5):
        number, at = divmod(number, len(alphabet))
        said += alphabet[at]
    return said
