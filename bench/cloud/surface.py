"""The control surface below `/_tidepool/`: what a person or a test may do to the cloud that Google's APIs cannot.

Owns how a command is found and answered, and the commands of clock, speed, limits and the registry beside the cloud.
Nodes, builds, identity tokens and GitHub have theirs beside them. The Python client is `control`.
"""

from __future__ import annotations

import os
import re
import time
from urllib.parse import parse_qsl, unquote

from bench.cloud.clock import timestamp
from bench.cloud.cloud import COMMANDS, LONGEST_SECONDS, Cloud, Order, Said, obeys, whole
from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.limits import Limit
from bench.cloud.services.artifact_registry import images as artifact_images
from bench.cloud.services.cloudbuild import builds as cloudbuild_builds
from bench.cloud.services.tpu.node import KIND
from bench.cloud.wire import HttpRequest, Reply, parsed_json, refused, sent

BASE = "/_tidepool/"
SERVICE = "_tidepool"
_BEGAN = time.monotonic()
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):\d{1,5}")


def reply(cloud: Cloud, request: HttpRequest) -> Reply:
    try:
        return _obeyed(cloud, request)
    except ApiError as refusal:
        return refused(refusal, SERVICE)


def _obeyed(cloud: Cloud, request: HttpRequest) -> Reply:
    path = request.path.removeprefix(BASE)
    head, _, rest = path.partition("/")
    whole = f"{request.verb} {path}"
    act = COMMANDS.get(whole) or COMMANDS.get(f"{request.verb} {head}")
    if act is None:
        raise ApiError(404, f"The control surface has no {request.verb} {request.path}.")
    body = parsed_json(request.data)
    if not isinstance(body, dict | None):
        raise invalid("The body is a JSON object.")
    order = Order(cloud, Said(body or {}), dict(parse_qsl(request.query)), "" if whole in COMMANDS else unquote(rest))
    with cloud.request():
        return sent(act(order))


# Seeing


@obeys("GET health")
def health(_: Order) -> JsonObject:
    return {"pid": os.getpid()}


@obeys("GET status")
def status(order: Order) -> JsonObject:
    cloud = order.cloud
    return {
        "pid": os.getpid(),
        "time": timestamp(cloud.now),
        "uptimeSeconds": round(time.monotonic() - _BEGAN, 3),
        "requests": cloud.log.count,
        "nodes": cloud.store.tally(KIND, "$.public.state"),
        "builds": cloud.store.tally(cloudbuild_builds.KIND, "$.status"),
        "faults": len(cloud.faults.each(cloud.now)),
        "limits": sum(1 for _ in cloud.limits.each()),
        "eventsSetAside": cloud.timeline.failed(),
        "compression": cloud.compression,
    }


@obeys("GET clock")
def clock(order: Order) -> JsonObject:
    now = order.cloud.now
    return {"time": timestamp(now), "seconds": now, "offset": order.cloud.clock.offset}


@obeys("GET log")
def log(order: Order) -> JsonObject:
    limit, after = whole(order.query.get("limit", "200"), "limit"), whole(order.query.get("after", "0"), "after")
    return {"entries": order.cloud.log.tail(limit, after=after)}


@obeys("GET limits")
def limits(order: Order) -> JsonObject:
    return {"limits": [{**limit.to_json(), "held": held} for limit, held in order.cloud.limits.each()]}


@obeys("GET registry")
def registry(order: Order) -> JsonObject:
    return artifact_images.told(order.cloud)


# Doing


@obeys("POST clock")
def advance(order: Order) -> JsonObject:
    order.cloud.advance(order.body.number("advance", at_most=LONGEST_SECONDS))
    return clock(order)


@obeys("POST settings")
def set_compression(order: Order) -> JsonObject:
    order.cloud.compression = order.body.number("compression", at_least=0.001, at_most=1e9)
    return {"compression": order.cloud.compression}


@obeys("POST limits")
def declare_limit(order: Order) -> JsonObject:
    limit = Limit.from_json(order.body)
    order.cloud.limits.declare(limit, now=order.cloud.now)
    return {**limit.to_json(), "held": order.cloud.limits.held(limit.scope)}


@obeys("DELETE limits")
def lift_limit(order: Order) -> JsonObject:
    order.cloud.limits.lift(Limit.from_json({**order.body, "chips": 0}).scope)
    return {}


@obeys("POST registry")
def tell_registry(order: Order) -> JsonObject:
    address = order.body.text("address")
    if not _ADDRESS.fullmatch(address):
        raise invalid(f"address is HOST:PORT on loopback, not {address!r}.", field="address")
    artifact_images.tell(order.cloud, address)
    return registry(order)


@obeys("DELETE registry")
def forget_registry(order: Order) -> JsonObject:
    artifact_images.tell(order.cloud, None)
    return registry(order)


@obeys("POST reset")
def reset(order: Order) -> JsonObject:
    order.cloud.store.clear()
    return {}
