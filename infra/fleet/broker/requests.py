"""What VMs and the controller may ask of the broker, as requests say it.

Owns the form of bodies, paths and queries: names are checked before anything is done with them, as they become part of
paths. Whether it is granted is `decide`'s and `keeper`'s.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from infra.fleet.broker.decide import RegistrationRequest
from infra.fleet.broker.refusals import Reason, Refused

_NAME: Final = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PARTS: Final = frozenset({"stack", "vm", "pool"})
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")
_SCOPE: Final = re.compile(r"orgs/[A-Za-z0-9-]{1,39}|repos/[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}")
_RUNNER: Final = re.compile(r"[a-z0-9-]{1,64}")


class RequestKind(StrEnum):
    """What the controller asks for, as the audit line calls it."""

    RUNNERS = "runners"
    QUEUE = "queue"
    REMOVAL = "removal"


_QUERIES: Final = {
    RequestKind.RUNNERS: (
        frozenset({"stack"}),
        frozenset({"stack", "scope"}),
        frozenset({"stack", "scope", "name"}),
    ),
    RequestKind.QUEUE: (frozenset({"stack"}),),
    RequestKind.REMOVAL: (frozenset({"stack", "scope"}),),
}
"""What the query of each may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRequest:
    """scope: where a runner is to be removed, or the only one whose runners are listed. number: of the one to remove.

    name: of the one runner that is asked for. Empty, and 0, where nothing is said.
    """

    kind: RequestKind
    stack: str
    scope: str = ""
    number: int = 0
    name: str = ""


def registration_request(body: bytes) -> RegistrationRequest:
    """What a VM asks for. Raises Refused."""
    try:
        said = strict_object(body)
    except ValueError:
        raise Refused(Reason.MALFORMED) from None
    if said.keys() != _PARTS or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in said.values()):
        raise Refused(Reason.MALFORMED)
    return RegistrationRequest(**said)


def controller_request(kind: RequestKind, pairs: list[tuple[str, str]], number: str = "") -> ControllerRequest:
    """What the controller asks for. pairs: of the query. number: of the runner in the path. Raises Refused."""
    said = dict(pairs)
    if len(pairs) != len(said) or said.keys() not in _QUERIES[kind] or not _NAME.fullmatch(said["stack"]):
        raise Refused(Reason.BAD_QUERY)
    scope, name = said.get("scope"), said.get("name")
    if scope is not None and (not _SCOPE.fullmatch(scope) or scope.rpartition("/")[2] in (".", "..")):
        raise Refused(Reason.BAD_QUERY)
    if name is not None and not _RUNNER.fullmatch(name):
        raise Refused(Reason.BAD_QUERY)
    if number and not _NUMBER.fullmatch(number):
        raise Refused(Reason.NOT_FOUND)
    named = {"stack": said["stack"], "scope": scope or "", "name": name or ""}
    return ControllerRequest(kind=kind, number=int(number or 0), **named)


def strict_object(content: bytes) -> dict[str, Any]:
    """A JSON object in which no key is written twice: of two, readers disagree which counts. Raises ValueError."""
    try:
        found = json.loads(content, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - a stranger wrote it
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is written twice")
    return found
