"""The cloud itself: everything a handler may reach, the rule by which time passes in it, and who answers what.

Owns the assembly of store, clock, timeline, operations, limits and faults, the settling of due events before a request,
and three registries: handlers of methods by their discovery ids, reactions to events that become due, and commands of
the control surface. Leaves HTTP to `server`, routing to `router`, and each API to `services`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, TypeAlias, TypeVar

from bench.cloud.clock import DueEvent, OffsetClock, Timeline
from bench.cloud.errors import JsonObject
from bench.cloud.faults import Faults
from bench.cloud.limits import Limits
from bench.cloud.operations import Operations
from bench.cloud.requestlog import LOGGER, RequestLog
from bench.cloud.store import Store
from bench.cloud.tls import Tls
from bench.cloud.wire import ApiAnswer, Media

# A TPU create of two minutes takes an eighth of a second.
DEFAULT_COMPRESSION = 1000.0
# A time that no calendar has would be kept, and every later request would fail by it.
EVENTS_SET_ASIDE = "events set aside"
LONGEST_SECONDS = 100 * 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class ProjectNames:
    """id: `my-lab`. number: twelve digits made from the id, the same on every machine."""

    id: str
    number: int


class Cloud:
    """wall: the source of real seconds; tests hand in their own. The clock's offset is the store's.

    tls: where the cloud is served over TLS, set by whoever serves it.
    """

    def __init__(self, store: Store, *, wall: Callable[[], float] = time.time) -> None:  # noqa: TID251 - its own clock's
        self.store = store
        self.clock = OffsetClock(offset=store.setting("clock-offset", 0.0), wall=wall)
        self.now = self.clock.read()
        self.timeline = Timeline(store)
        self.operations = Operations(store, lambda: self.now, self.compressed)
        self.limits = Limits(store)
        self.faults = Faults(store)
        self.log = RequestLog()
        self.tls: Tls | None = None

    @contextmanager
    def request(self) -> Generator[None]:
        """One transaction at one moment: what was due has happened first, also when the request itself is refused."""
        with self.store.transaction():
            self.settle()
        with self.store.transaction():
            yield

    def settle(self) -> None:
        """Let everything due by now happen, in order; `now` is each event's own time while it happens.

        An event that fails changes nothing and is dropped: kept due, it would fail every request there is.
        """
        present = self.clock.read()
        while (event := self.timeline.take(present)) is not None:
            self.now = event.due
            try:
                with self.store.attempt():
                    REACTIONS[event.kind](self, event)
            except Exception:  # noqa: BLE001 - whatever it is, the next request must be answered
                LOGGER.exception("set aside: %s of %s", event.kind, event.subject)
                self.store.next_number(EVENTS_SET_ASIDE)
        self.now = present

    # Time

    @property
    def compression(self) -> float:
        """By how much operation delays (and only they) are shorter than in the real cloud."""
        return float(self.store.setting("compression", DEFAULT_COMPRESSION))

    @compression.setter
    def compression(self, factor: float) -> None:
        self.store.set_setting("compression", factor)

    def advance(self, seconds: float) -> None:
        """Move cloud time forward, durably, and let happen what becomes due."""
        self.clock.offset += seconds
        self.store.set_setting("clock-offset", self.clock.offset)
        self.settle()

    def compressed(self, seconds: float) -> float:
        """A realistic operation delay as it is here."""
        return seconds / self.compression

    def after(self, seconds: float, kind: str, subject: str, data: JsonObject | None = None) -> None:
        """Plan an event at the end of an operation of `seconds` realistic seconds."""
        self.timeline.add(self.now + self.compressed(seconds), kind, subject, data)

    # Projects

    def project(self, id_or_number: str) -> ProjectNames:
        """Both names of a project. Any id is a project; a number is known once its id was seen in a request."""
        if id_or_number.isdigit():
            known = self.store.setting(f"project-number/{id_or_number}")
            return ProjectNames(known or id_or_number, int(id_or_number))
        number = 10**11 + int.from_bytes(hashlib.sha256(id_or_number.encode()).digest()[:8], "big") % (9 * 10**11)
        if self.store.setting(f"project-number/{number}") is None:
            self.store.set_setting(f"project-number/{number}", id_or_number)
        return ProjectNames(id_or_number, number)


@dataclass(frozen=True, slots=True)
class ApiCall:
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

    @property
    def service(self) -> str:
        """The first word of the method: `tpu`, `storage`."""
        return self.method.partition(".")[0]

    @property
    def base(self) -> str:
        """Where this API's paths start for the client, with a slash at the end: `http://127.0.0.1:1/compute/beta/`."""
        prefix = f"{self.service}/" if self.service in ("compute", "container", "storage") else ""
        return f"{self.root}/{prefix}{self.version}/"


Handler: TypeAlias = Callable[[ApiCall], ApiAnswer]
Reaction: TypeAlias = Callable[[Cloud, DueEvent], None]
Registered = TypeVar("Registered", bound=FunctionType)

HANDLERS: dict[str, Handler] = {}
REACTIONS: dict[str, Reaction] = {}
COMMANDS: dict[str, Callable[..., Any]] = {}


def _registering(functions: dict[str, Any], *names: str) -> Callable[[Registered], Registered]:
    def register(function: Registered) -> Registered:
        for name in names:
            if name in functions:
                raise ValueError(f"{name} has two functions")
            functions[name] = function
        return function

    return register


def handles(*methods: str) -> Callable[[Registered], Registered]:
    """Register a function as the answer to the methods named, in every version that has them."""
    return _registering(HANDLERS, *methods)


def reacts(*kinds: str) -> Callable[[Registered], Registered]:
    """Register a function as what happens when an event of one of these kinds becomes due."""
    return _registering(REACTIONS, *kinds)


def obeys(act: Registered) -> Registered:
    """Register a function as a command of the control surface, by its name.

    It takes the cloud and what `control` hands on, checked by its annotations, and answers anything that JSON has.
    """
    return _registering(COMMANDS, act.__name__)(act)
