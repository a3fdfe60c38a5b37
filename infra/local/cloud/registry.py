"""What a service is to the local cloud: plain functions, registered by the discovery id of the method they answer.

Owns the shapes that pass between the server and the services (`Call`, `Response`, `Media`) and the two registries:
handlers of methods, and reactions to events that become due. Leaves routing to `router` and behaviour to `services`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from infra.local.cloud.cloud import Cloud
    from infra.local.cloud.timeline import Event

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes that came with a request (an upload) beside its JSON."""

    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """One request, routed and checked.

    method: discovery id without the version, `tpu.projects.locations.nodes.create`.
    version: API version of the path the client used: `v2`, `v2alpha1`, `v1`, `beta`.
    params: path and query parameters by their discovery names (`parent`, `nodeId`, `project`); a repeated one is a
        list, an integer an int, a boolean a bool; only what was sent.
    ids: the variables of the flat path, percent-decoded: `projectsId`, `locationsId`, `nodesId`; with Compute
        Engine and Cloud Storage `project`, `zone`, `bucket`.
    body: the JSON body, checked against the discovery schema, with camelCase names and without read-only fields; {}
        where the method takes a body and none was sent.
    media: uploaded bytes, or None.
    headers: lower-case names.
    root: scheme, host and port the client used, without a slash at the end, for self links.
    listed: of a list, the fields that its items have, by which a client may filter and order.
    """

    method: str
    version: str
    params: Mapping[str, Any]
    ids: Mapping[str, str]
    body: JsonObject
    cloud: Cloud
    media: Media | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    root: str = ""
    listed: frozenset[str] = frozenset()

    @property
    def service(self) -> str:
        """The first word of the method: `tpu`, `storage`."""
        return self.method.partition(".")[0]

    @property
    def base(self) -> str:
        """Where this API's paths start for the client, with a slash at the end: `http://127.0.0.1:1/compute/beta/`."""
        prefix = f"{self.service}/" if self.service in ("compute", "storage") else ""
        return f"{self.root}/{prefix}{self.version}/"


@dataclass(frozen=True, slots=True)
class Response:
    """An answer other than 200 with JSON. `body` of None is an empty body."""

    status: int = 200
    body: JsonObject | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/octet-stream"


Answer: TypeAlias = JsonObject | bytes | Response
Handler: TypeAlias = Callable[[Call], Answer]
Reaction: TypeAlias = "Callable[[Cloud, Event], None]"

HANDLERS: dict[str, Handler] = {}
REACTIONS: dict[str, Reaction] = {}


def handles(*methods: str) -> Callable[[Handler], Handler]:
    """Register a function as the answer to the methods named, in every version that has them."""

    def register(handler: Handler) -> Handler:
        for method in methods:
            if method in HANDLERS:
                raise ValueError(f"{method} has two handlers")
            HANDLERS[method] = handler
        return handler

    return register


def reacts(kind: str) -> Callable[[Reaction], Reaction]:
    """Register a function as what happens when an event of this kind becomes due."""

    def register(reaction: Reaction) -> Reaction:
        if kind in REACTIONS:
            raise ValueError(f"{kind} has two reactions")
        REACTIONS[kind] = reaction
        return reaction

    return register
