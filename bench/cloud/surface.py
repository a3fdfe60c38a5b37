"""The control surface below `/_tidepool/`: what a person or a test may do to the cloud that Google's APIs cannot.

Owns how a command is found, checked and answered, and the commands of clock, speed, limits, faults and the registry
beside the cloud. Nodes, builds, identity tokens, clusters and GitHub have theirs beside them. `control` calls them.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Annotated, Any

from pydantic import ConfigDict, Field, validate_call

from bench.cloud.clock import timestamp
from bench.cloud.cloud import COMMANDS, EVENTS_SET_ASIDE, LONGEST_SECONDS, Cloud, obeys
from bench.cloud.errors import STRICT, ApiError, JsonObject, invalid, refusing
from bench.cloud.limits import Limit, LimitScope
from bench.cloud.services.artifact_registry import images as artifact_images
from bench.cloud.services.cloudbuild import builds as cloudbuild_builds
from bench.cloud.services.tpu.node import KIND
from bench.cloud.wire import HttpRequest, Reply, parsed_json, refused, sent

BASE = "/_tidepool/"
SERVICE = "_tidepool"
_BEGAN = time.monotonic()
_CHECKED = validate_call(config=ConfigDict(**STRICT, arbitrary_types_allowed=True))


def reply(cloud: Cloud, request: HttpRequest) -> Reply:
    try:
        with cloud.request():
            return sent(_obeyed(cloud, request, parsed_json(request.data) or {}))
    except ApiError as refusal:
        return refused(refusal, SERVICE)


def _obeyed(cloud: Cloud, request: HttpRequest, body: Any) -> Any:
    """The answer of a command, which takes the members of the body by name and `arguments` before them.

    Of a page in a browser, POST alone says its origin.
    """
    name = request.path.removeprefix(BASE)
    if name not in COMMANDS or request.verb != "POST":
        raise ApiError(404, f"The control surface has no command {request.verb} {name}.")
    if not isinstance(body, dict):
        raise invalid("The body is a JSON object.")
    with refusing(name):
        return _checked(name)(cloud, *body.pop("arguments", ()), **body)


_checked = cache(lambda name: _CHECKED(COMMANDS[name]))


# Seeing


@obeys
def health(_: Cloud) -> JsonObject:
    """pid: the process that answers."""
    return {"pid": os.getpid()}


@obeys
def status(cloud: Cloud) -> JsonObject:
    """nodes, builds: count by state. eventsSetAside: those that failed, which the cloud's log explains."""
    return {
        "pid": os.getpid(),
        "time": timestamp(cloud.now),
        "uptimeSeconds": round(time.monotonic() - _BEGAN, 3),
        "requests": cloud.log.count,
        "nodes": cloud.store.tally(KIND, "$.public.state"),
        "builds": cloud.store.tally(cloudbuild_builds.KIND, "$.status"),
        "faults": len(cloud.faults.each(cloud.now)),
        "limits": len(limits(cloud)),
        "eventsSetAside": cloud.store.counted(EVENTS_SET_ASIDE),
        "compression": cloud.compression,
    }


@obeys
def clock(cloud: Cloud) -> JsonObject:
    """time (RFC 3339), seconds (since the epoch), offset (ahead of the wall clock)."""
    return {"time": timestamp(cloud.now), "seconds": cloud.now, "offset": cloud.clock.offset}


@obeys
def log(cloud: Cloud, limit: int = 200, after: int = 0) -> list[JsonObject]:
    """The last requests, oldest first, as `requestlog.LoggedRequest`. after: only numbers above it."""
    return cloud.log.tail(limit, after=after)


@obeys
def limits(cloud: Cloud) -> list[JsonObject]:
    """Each with the chips `held` of it here."""
    return [{**limit.to_json(), "held": held} for limit, held in cloud.limits.each()]


@obeys
def registry(cloud: Cloud) -> JsonObject:
    """address (host:port) of the OCI registry beside the cloud; None where there is none."""
    return artifact_images.told(cloud)


# Doing


@obeys
def advance(cloud: Cloud, seconds: Annotated[float, Field(ge=0, le=LONGEST_SECONDS)]) -> JsonObject:
    """Move cloud time forward; what becomes due happens. The answer is `clock`'s."""
    cloud.advance(seconds)
    return clock(cloud)


@obeys
def set_compression(cloud: Cloud, factor: Annotated[float, Field(ge=0.001, le=1e9)]) -> JsonObject:
    """Divide operation delays by `factor`: 1 is realistic, 1000 the default. Operations that run keep theirs."""
    cloud.compression = factor
    return {"compression": cloud.compression}


@obeys
def limit(cloud: Cloud, **declared: Any) -> JsonObject:
    """Declare a quota, or with the capacity `reserved` a reservation; the fields of `limits.Limit` and its scope."""
    limit = Limit(**declared)
    cloud.limits.declare(limit, now=cloud.now)
    return {**limit.to_json(), "held": cloud.limits.held(limit)}


@obeys
def lift(cloud: Cloud, **scope: Any) -> None:
    """Remove a declared limit; the fields of `limits.LimitScope`."""
    cloud.limits.lift(LimitScope(**scope))


@obeys
def set_registry(
    cloud: Cloud, address: Annotated[str, Field(pattern=r"^(127\.0\.0\.1|localhost):\d{1,5}$")]
) -> JsonObject:
    """Say where the OCI registry is, which lasts until `forget_registry` or `reset`."""
    artifact_images.tell(cloud, address)
    return registry(cloud)


@obeys
def forget_registry(cloud: Cloud) -> None:
    """Artifact Registry holds no images any more."""
    artifact_images.tell(cloud, None)


@obeys
def reset(cloud: Cloud) -> None:
    """Forget every resource, fault, limit and setting; the clock stays."""
    cloud.store.clear()
