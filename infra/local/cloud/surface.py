"""The control surface below `/_tidepool/`: what a person or a test may do to the cloud that Google's APIs cannot.

Owns its paths and the shapes of their JSON. The Python client of it is `control`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from infra.local.cloud import media
from infra.local.cloud.clock import timestamp
from infra.local.cloud.errors import ApiError, invalid
from infra.local.cloud.faults import Rule
from infra.local.cloud.gateway import Gateway
from infra.local.cloud.limits import Limit
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.services import artifact_shelf, cloudbuild_builds, tpu_control, tpu_fate
from infra.local.cloud.services.tpu_node import KIND, each, named
from infra.local.cloud.wire import Reply, Request, refused, sent

_SERVICE = "_tidepool"
_LOG_LINES = 200
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):\d{1,5}")
# A time that no calendar has would be kept, and every later request would fail by it.
_LONGEST_SECONDS = 100 * 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class _Ask:
    """rest: what follows the command in the path."""

    body: JsonObject
    query: dict[str, str]
    rest: str


class Surface:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._cloud = gateway.cloud
        self._began = time.monotonic()
        self._commands: dict[tuple[str, str], Callable[[_Ask], JsonObject]] = {
            ("GET", "health"): self._health,
            ("GET", "status"): self._status,
            ("GET", "clock"): self._clock,
            ("POST", "clock"): self._advance,
            ("GET", "log"): self._log,
            ("GET", "settings"): self._settings,
            ("POST", "settings"): self._set,
            ("GET", "faults"): self._faults,
            ("POST", "faults"): self._fail,
            ("DELETE", "faults"): self._mend,
            ("GET", "limits"): self._limits,
            ("POST", "limits"): self._limit,
            ("DELETE", "limits"): self._lift,
            ("GET", "nodes"): self._nodes,
            ("POST", "nodes"): self._add_node,
            ("PATCH", "nodes"): self._edit_node,
            ("DELETE", "nodes"): self._remove_node,
            ("POST", "preempt"): self._preempt,
            ("POST", "maintain"): self._maintain,
            ("GET", "guests"): self._guests,
            ("POST", "guests"): self._write_guests,
            ("POST", "guest-faults"): self._strike_guest,
            ("GET", "registry"): self._registry,
            ("POST", "registry"): self._tell_registry,
            ("DELETE", "registry"): self._forget_registry,
            ("POST", "reset"): self._reset,
        }

    def reply(self, request: Request) -> Reply:
        try:
            return self._obeyed(request)
        except ApiError as refusal:
            return refused(refusal, _SERVICE)

    def _obeyed(self, request: Request) -> Reply:
        command, _, rest = request.path.removeprefix("/_tidepool/").partition("/")
        act = self._commands.get((request.verb, command))
        if act is None:
            raise ApiError(404, f"The control surface has no {request.verb} {request.path}.")
        body = media.parsed_json(request.data)
        if not isinstance(body, dict | None):
            raise invalid("The body is a JSON object.")
        ask = _Ask(body or {}, dict(parse_qsl(request.query)), unquote(rest))
        with self._cloud.request():
            return sent(act(ask))

    # Seeing

    def _health(self, _: _Ask) -> JsonObject:
        return {"pid": os.getpid()}

    def _status(self, _: _Ask) -> JsonObject:
        cloud = self._cloud
        return {
            "pid": os.getpid(),
            "time": timestamp(cloud.now),
            "uptimeSeconds": round(time.monotonic() - self._began, 3),
            "requests": self._gateway.log.count,
            "nodes": cloud.store.tally(KIND, "$.public.state"),
            "builds": cloud.store.tally(cloudbuild_builds.KIND, "$.status"),
            "faults": len(cloud.faults.each(cloud.now)),
            "limits": sum(1 for _ in cloud.limits.each()),
            "eventsSetAside": cloud.timeline.failed(),
            "compression": cloud.compression,
        }

    def _clock(self, _: _Ask) -> JsonObject:
        return {"time": timestamp(self._cloud.now), "seconds": self._cloud.now, "offset": self._cloud.clock.offset}

    def _log(self, ask: _Ask) -> JsonObject:
        limit, after = _whole(ask.query, "limit", _LOG_LINES), _whole(ask.query, "after", 0)
        return {"entries": self._gateway.log.tail(limit, after=after)}

    def _settings(self, _: _Ask) -> JsonObject:
        return {"compression": self._cloud.compression}

    def _faults(self, _: _Ask) -> JsonObject:
        return {"faults": [rule.to_json() for rule in self._cloud.faults.each(self._cloud.now)]}

    def _limits(self, _: _Ask) -> JsonObject:
        return {"limits": [{**limit.to_json(), "held": held} for limit, held in self._cloud.limits.each()]}

    def _nodes(self, _: _Ask) -> JsonObject:
        return {"nodes": [node.public for node in each(self._cloud)]}

    def _guests(self, _: _Ask) -> JsonObject:
        return tpu_control.told(self._cloud)

    def _registry(self, _: _Ask) -> JsonObject:
        return artifact_shelf.told(self._cloud)

    # Doing

    def _advance(self, ask: _Ask) -> JsonObject:
        self._cloud.advance(_number(ask.body, "advance", at_most=_LONGEST_SECONDS))
        return self._clock(ask)

    def _set(self, ask: _Ask) -> JsonObject:
        self._cloud.compression = _number(ask.body, "compression", at_least=0.001, at_most=1e9)
        return self._settings(ask)

    def _fail(self, ask: _Ask) -> JsonObject:
        rule = self._cloud.faults.add(Rule.from_json(ask.body), now=self._cloud.now)
        if rule.kind == "preempt":
            tpu_fate.apply_rule(self._cloud, rule)
        return rule.to_json()

    def _mend(self, ask: _Ask) -> JsonObject:
        number = _whole({"id": ask.rest}, "id", 0) if ask.rest else None
        if number is None:
            self._cloud.faults.clear()
        else:
            self._cloud.faults.remove(number)
        tpu_fate.release(self._cloud, number)
        return {}

    def _limit(self, ask: _Ask) -> JsonObject:
        limit = Limit.from_json(ask.body)
        self._cloud.limits.declare(limit, now=self._cloud.now)
        return {**limit.to_json(), "held": self._cloud.limits.held(limit.pot)}

    def _lift(self, ask: _Ask) -> JsonObject:
        limit = Limit.from_json({**ask.body, "chips": 0})
        self._cloud.limits.lift(limit.pot)
        return {}

    def _preempt(self, ask: _Ask) -> JsonObject:
        node = named(self._cloud, ask.body.get("node", ""))
        tpu_fate.preempt(self._cloud, node)
        return node.public

    def _maintain(self, ask: _Ask) -> JsonObject:
        node = named(self._cloud, ask.body.get("node", ""))
        seconds = _number({"seconds": tpu_fate.MAINTENANCE_SECONDS, **ask.body}, "seconds", at_most=_LONGEST_SECONDS)
        tpu_fate.maintain(self._cloud, node, seconds)
        return node.public

    def _add_node(self, ask: _Ask) -> JsonObject:
        return tpu_control.add(self._cloud, str(ask.body.get("name", "")), ask.body.get("node", {})).public

    def _edit_node(self, ask: _Ask) -> JsonObject:
        return tpu_control.edit(self._cloud, named(self._cloud, ask.rest), ask.body).public

    def _remove_node(self, ask: _Ask) -> JsonObject:
        tpu_control.remove(self._cloud, named(self._cloud, ask.rest))
        return {}

    def _write_guests(self, ask: _Ask) -> JsonObject:
        tpu_control.write(self._cloud, ask.body.get("disks"))
        return {}

    def _strike_guest(self, ask: _Ask) -> JsonObject:
        node, running = (str(ask.body.get(key, "")) for key in ("node", "running"))
        return {"fault": tpu_control.struck(self._cloud, node, ask.body.get("kind"), running)}

    def _tell_registry(self, ask: _Ask) -> JsonObject:
        address, log = ask.body.get("address"), ask.body.get("log")
        if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
            raise invalid(f"address is HOST:PORT on loopback, not {address!r}.", field="address")
        artifact_shelf.tell(self._cloud, address=address, log=log if isinstance(log, str) else None)
        return self._registry(ask)

    def _forget_registry(self, ask: _Ask) -> JsonObject:
        artifact_shelf.tell(self._cloud, address=None, log=None)
        return self._registry(ask)

    def _reset(self, _: _Ask) -> JsonObject:
        self._cloud.store.clear()
        return {}


def _whole(values: dict[str, str], key: str, default: int) -> int:
    text = values.get(key, str(default))
    if not text.isdigit():
        raise invalid(f"{key} is a whole number, not {text!r}.", field=key)
    return int(text)


def _number(values: JsonObject, key: str, *, at_least: float = 0.0, at_most: float) -> float:
    value = values.get(key)
    # Written so that a NaN, which JSON of Python's may hold, is refused too.
    if isinstance(value, bool) or not isinstance(value, int | float) or not at_least <= value <= at_most:
        raise invalid(f"{key} is a number from {at_least:g} to {at_most:g}, not {value!r}.", field=key)
    return float(value)
