"""The TPU API of one zone as a sweep sees it: its VMs, which creates of ours are over, and what a failed one means.

Owns the two lists, with all their pages, the reading of what stands in them, and how no capacity, no quota, no service
and a request that is wrong are told apart. Statuses are those of HTTP; codes are those of google.rpc.Code, in which
operations fail. A stockout comes as an operation's code 8; quota as 429 or as code 8 with `Quota limit` in its text
(cloud.google.com/tpu/docs/troubleshooting, read 2026-11). A 429 that counts requests in time is over with its minute,
and nobody has to free anything (cloud.google.com/docs/quotas/troubleshoot, read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from infra.fleet.controller.memory import Creating
from infra.fleet.controller.observed import CreateEnded, NodeSeen, Trouble
from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.model.catalogue import CapacityKind

MINUTE: Final = 60.0
"""Seconds after which no request counts any more against a limit of requests a minute."""
_AGAIN: Final = 10.0
_PAGE: Final = 500
_FIELDS: Final = (
    "nodes(name,state,health,healthDescription,acceleratorType,schedulingConfig,createTime,labels),"
    "nextPageToken,unreachable"
)
"""What is read of a VM, a fifth of what the API has: most of a VM is its metadata."""
_RESOURCE_EXHAUSTED: Final = 8
_OUTAGES: Final = frozenset({1, 2, 4, 10, 13, 14})
"""CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, ABORTED, INTERNAL, UNAVAILABLE: nothing is wrong with what was asked."""

_TOO_MANY: Final = 429
_TIMEOUT: Final = 408
_FORBIDDEN: Final = 403
_RATE: Final = re.compile(r"\bper (second|minute|hour|day)\b|rate[ _]?limit", re.IGNORECASE)
_A_MINUTE: Final = re.compile(r"\bper (second|minute)\b", re.IGNORECASE)
_SERVER: Final = 500


class ShapeError(Exception):
    """An answer that is not what its API promises."""


def nodes(google: Clients, project: str, zone: str) -> list[NodeSeen]:
    """Every TPU VM of a zone. Raises ShapeError and GoogleError."""
    return [_node(zone, node) for node in raw_nodes(google, f"projects/{project}/locations/{zone}")]


def ended(google: Clients, project: str, zone: str, creating: Mapping[str, Creating]) -> list[CreateEnded]:
    """Which of these creates are over. Raises GoogleError."""
    return list(_ended(zone, creating, _operations(google, f"projects/{project}/locations/{zone}")))


def raw_nodes(google: Clients, parent: str) -> Iterable[Mapping[str, Any]]:
    """Every TPU VM of a zone, `projects/P/locations/Z`, with the fields that _FIELDS names, as the API has them.

    Raises ShapeError and GoogleError.
    """
    api = google.api(Api.TPU).projects().locations().nodes()
    request = api.list(parent=parent, pageSize=_PAGE, fields=_FIELDS)
    while request is not None:
        answer = execute(request, f"listing the TPU VMs of {parent}")
        if answer.get("unreachable"):
            raise ShapeError(f"listing the TPU VMs of {parent}: {', '.join(answer['unreachable'])} did not answer")
        yield from answer.get("nodes", ())
        request = api.list_next(request, answer)


def _operations(google: Clients, parent: str) -> Iterable[Mapping[str, Any]]:
    api = google.api(Api.TPU).projects().locations().operations()
    request = api.list(name=parent, pageSize=_PAGE)
    while request is not None:
        answer = execute(request, f"listing the operations of {parent}")
        yield from answer.get("operations", ())
        request = api.list_next(request, answer)


def _node(zone: str, node: Mapping[str, Any]) -> NodeSeen:
    scheduling = node.get("schedulingConfig") or {}
    try:
        return NodeSeen(
            name=str(node["name"]).rpartition("/")[2],
            zone=zone,
            state=str(node.get("state", "STATE_UNSPECIFIED")),
            health=str(node.get("health", "")),
            health_text=str(node.get("healthDescription", "")),
            accelerator=str(node.get("acceleratorType", "")),
            capacity=_capacity(scheduling),
            created=str(node.get("createTime", "")),
            labels=dict(node.get("labels") or {}),
        )
    except (KeyError, TypeError) as error:
        raise ShapeError(f"a TPU VM in {zone} cannot be read: {type(error).__name__} {error}") from None


def _capacity(scheduling: Mapping[str, Any]) -> CapacityKind:
    for key, kind in (
        ("reserved", CapacityKind.RESERVED),
        ("spot", CapacityKind.SPOT),
        ("preemptible", CapacityKind.PREEMPTIBLE),
    ):
        if scheduling.get(key):
            return kind
    return CapacityKind.ON_DEMAND


def _ended(
    zone: str, creating: Mapping[str, Creating], operations: Iterable[Mapping[str, Any]]
) -> Iterable[CreateEnded]:
    by_name = {str(operation.get("name")): operation for operation in operations}
    for slot, asked in creating.items():
        operation = by_name.get(asked.operation, {})
        if not operation.get("done"):
            continue
        error = operation.get("error") or {}
        text = str(error.get("message", ""))
        trouble = trouble_of_operation(int(error.get("code", 0)), text) if error else None
        yield CreateEnded(slot=slot, zone=zone, trouble=trouble, text=text)


def trouble_of_operation(code: int, text: str) -> Trouble:
    """The trouble of an operation that ended with an error."""
    if code == _RESOURCE_EXHAUSTED and _RATE.search(text):
        return Trouble.OUTAGE
    if code == _RESOURCE_EXHAUSTED:
        return Trouble.QUOTA if "quota" in text.lower() else Trouble.STOCKOUT
    return Trouble.OUTAGE if code in _OUTAGES else Trouble.REFUSED


def trouble_of_answer(status: int | None, text: str) -> Trouble:
    """The trouble of a create call that was not taken. status: None where no answer came."""
    if status is None or status >= _SERVER or status == _TIMEOUT:
        return Trouble.OUTAGE
    if status in (_TOO_MANY, _FORBIDDEN) and _RATE.search(text):
        return Trouble.OUTAGE
    if status == _TOO_MANY:
        return Trouble.STOCKOUT if "no more capacity" in text.lower() else Trouble.QUOTA
    return Trouble.REFUSED


def is_request_limit(text: str) -> bool:
    """Whether a refusal counts requests in time: it is over by itself, and nobody has to free anything."""
    return _RATE.search(text) is not None


def taken(
    request: Any, doing: str, *, sleep: Callable[[float], None], clock: Callable[[], float], until: float
) -> Mapping[str, Any]:
    """The answer to a request. One more than Google takes in a minute is sent again until one such minute is over.

    until: when a sweep has no more time, by the clock. Raises GoogleError.
    """
    until = min(clock() + MINUTE, until)
    while True:
        try:
            return execute(request, doing)
        except GoogleError as error:
            a_minute = error.status in (_TOO_MANY, _FORBIDDEN) and _A_MINUTE.search(error.reason)
            if not a_minute or clock() + _AGAIN > until:
                raise
        sleep(_AGAIN)
