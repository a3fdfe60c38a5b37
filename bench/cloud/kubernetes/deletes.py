"""What a cluster answers to a request to delete objects: preconditions, propagation, and what is shown of the end.

Leaves how an object ends to `lifecycle`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.cloud.kubernetes import admission
from bench.cloud.kubernetes.status import bad_request, success
from bench.cloud.kubernetes.verbs import KubernetesCall, listed, seen

JsonObject = dict[str, Any]


def delete(call: KubernetesCall) -> JsonObject:
    """Raises 404 and 409."""
    live, options = call.live(), call.body() or {}
    _insist_on_preconditions(call, live, options.get("preconditions") or {})
    left, gone = call.lifecycle.delete(call.kind, live, _propagation(call, options))
    uid = live["metadata"]["uid"]
    about = {"name": call.name, "group": call.kind.group, "kind": call.kind.plural, "uid": uid}
    if gone and not call.kind.shown_when_deleted:
        return success({key: each for key, each in about.items() if each})
    return seen(call, left)


def delete_all(call: KubernetesCall) -> JsonObject:
    """Those that the selectors choose; the answer is the list of them."""
    answer, options = listed(call), call.body() or {}
    for each in answer["items"]:
        if found := call.keyspace.find(call.kind, each["metadata"].get("namespace", ""), each["metadata"]["name"]):
            call.lifecycle.delete(call.kind, found, _propagation(call, options))
    return answer


def _propagation(call: KubernetesCall, options: JsonObject) -> Any:
    said = options.get("propagationPolicy") or call.query.get("propagationPolicy") or "Background"
    if options.get("orphanDependents"):
        said = "Orphan"
    if said not in ("Background", "Foreground", "Orphan"):
        raise bad_request(f'invalid propagationPolicy: Unsupported value: "{said}"')
    return said


def _insist_on_preconditions(call: KubernetesCall, live: JsonObject, due: Mapping[str, str]) -> None:
    for key, named in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if due.get(key) not in (None, live["metadata"][key]):
            said = f"{named} in precondition: {due[key]}, {named} in object meta: {live['metadata'][key]}"
            raise admission.not_fulfilled(call.kind, call.name, f"Precondition failed: {said}")
