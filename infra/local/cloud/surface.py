"""The control surface below `/_tidepool/`: what a person or a test may do to the cloud that Google's APIs cannot.

Owns how a command is found and answered, and the commands of clock, speed, faults, limits, nodes, guests and the
registry beside the cloud. Builds, identity tokens and GitHub have theirs beside them. The Python client is `control`.
"""

from __future__ import annotations

import os
import re
import time
from urllib.parse import parse_qsl, unquote

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import COMMANDS, Cloud, Order, Said, obeys
from infra.local.cloud.errors import ApiError, JsonObject, invalid
from infra.local.cloud.faults import Rule
from infra.local.cloud.limits import Limit
from infra.local.cloud.services import artifact_shelf, cloudbuild_builds, tpu_control, tpu_fate
from infra.local.cloud.services.tpu_node import KIND, each, named
from infra.local.cloud.wire import Reply, Request, parsed_json, refused, sent

BASE = "/_tidepool/"
SERVICE = "_tidepool"
_BEGAN = time.monotonic()
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):\d{1,5}")
# A time that no calendar has would be kept, and every later request would fail by it.
_LONGEST_SECONDS = 100 * 365 * 24 * 3600.0


def reply(cloud: Cloud, request: Request) -> Reply:
    try:
        return _obeyed(cloud, request)
    except ApiError as refusal:
        return refused(refusal, SERVICE)


def _obeyed(cloud: Cloud, request: Request) -> Reply:
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
    limit, after = _whole(order.query.get("limit", "200"), "limit"), _whole(order.query.get("after", "0"), "after")
    return {"entries": order.cloud.log.tail(limit, after=after)}


@obeys("GET settings")
def settings(order: Order) -> JsonObject:
    return {"compression": order.cloud.compression}


@obeys("GET faults")
def faults(order: Order) -> JsonObject:
    return {"faults": [rule.to_json() for rule in order.cloud.faults.each(order.cloud.now)]}


@obeys("GET limits")
def limits(order: Order) -> JsonObject:
    return {"limits": [{**limit.to_json(), "held": held} for limit, held in order.cloud.limits.each()]}


@obeys("GET nodes")
def nodes(order: Order) -> JsonObject:
    return {"nodes": [node.public for node in each(order.cloud)]}


@obeys("GET guests")
def guests(order: Order) -> JsonObject:
    return tpu_control.told(order.cloud)


@obeys("GET registry")
def registry(order: Order) -> JsonObject:
    return artifact_shelf.told(order.cloud)


# Doing


@obeys("POST clock")
def advance(order: Order) -> JsonObject:
    order.cloud.advance(_number(order.body, "advance", at_most=_LONGEST_SECONDS))
    return clock(order)


@obeys("POST settings")
def set_compression(order: Order) -> JsonObject:
    order.cloud.compression = _number(order.body, "compression", at_least=0.001, at_most=1e9)
    return settings(order)


@obeys("POST faults")
def fail(order: Order) -> JsonObject:
    rule = order.cloud.faults.add(Rule.from_json(order.body), now=order.cloud.now)
    if rule.kind == "preempt":
        tpu_fate.apply_rule(order.cloud, rule)
    return rule.to_json()


@obeys("DELETE faults")
def mend(order: Order) -> JsonObject:
    number = _whole(order.rest, "id") if order.rest else None
    if number is None:
        order.cloud.faults.clear()
    else:
        order.cloud.faults.remove(number)
    tpu_fate.release(order.cloud, number)
    return {}


@obeys("POST limits")
def declare_limit(order: Order) -> JsonObject:
    limit = Limit.from_json(order.body)
    order.cloud.limits.declare(limit, now=order.cloud.now)
    return {**limit.to_json(), "held": order.cloud.limits.held(limit.pot)}


@obeys("DELETE limits")
def lift_limit(order: Order) -> JsonObject:
    order.cloud.limits.lift(Limit.from_json({**order.body, "chips": 0}).pot)
    return {}


@obeys("POST preempt")
def preempt(order: Order) -> JsonObject:
    node = named(order.cloud, order.body.get("node", ""))
    tpu_fate.preempt(order.cloud, node)
    return node.public


@obeys("POST maintain")
def maintain(order: Order) -> JsonObject:
    node = named(order.cloud, order.body.get("node", ""))
    said = {"seconds": tpu_fate.MAINTENANCE_SECONDS, **order.body}
    tpu_fate.maintain(order.cloud, node, _number(said, "seconds", at_most=_LONGEST_SECONDS))
    return node.public


@obeys("POST nodes")
def add_node(order: Order) -> JsonObject:
    return tpu_control.add(order.cloud, str(order.body.get("name", "")), order.body.get("node", {})).public


@obeys("PATCH nodes")
def edit_node(order: Order) -> JsonObject:
    return tpu_control.edit(order.cloud, named(order.cloud, order.rest), order.body).public


@obeys("DELETE nodes")
def remove_node(order: Order) -> JsonObject:
    tpu_control.remove(order.cloud, named(order.cloud, order.rest))
    return {}


@obeys("POST guests")
def write_guests(order: Order) -> JsonObject:
    tpu_control.write(order.cloud, order.body.get("disks"))
    return {}


@obeys("POST guest-faults")
def strike_guest(order: Order) -> JsonObject:
    node, running = (str(order.body.get(key, "")) for key in ("node", "running"))
    return {"fault": tpu_control.struck(order.cloud, node, order.body.get("kind"), running)}


@obeys("POST registry")
def tell_registry(order: Order) -> JsonObject:
    address, log = order.body.get("address"), order.body.get("log")
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise invalid(f"address is HOST:PORT on loopback, not {address!r}.", field="address")
    artifact_shelf.tell(order.cloud, address=address, log=log if isinstance(log, str) else None)
    return registry(order)


@obeys("DELETE registry")
def forget_registry(order: Order) -> JsonObject:
    artifact_shelf.tell(order.cloud, address=None, log=None)
    return registry(order)


@obeys("POST reset")
def reset(order: Order) -> JsonObject:
    order.cloud.store.clear()
    return {}


def _whole(text: str, key: str) -> int:
    if not text.isdigit():
        raise invalid(f"{key} is a whole number, not {text!r}.", field=key)
    return int(text)


def _number(values: JsonObject, key: str, *, at_least: float = 0.0, at_most: float) -> float:
    value = values.get(key)
    # Written so that a NaN, which JSON of Python's may hold, is refused too.
    if isinstance(value, bool) or not isinstance(value, int | float) or not at_least <= value <= at_most:
        raise invalid(f"{key} is a number from {at_least:g} to {at_most:g}, not {value!r}.", field=key)
    return float(value)
