"""What the controller may ask of the broker, as requests say it: the runners, the queue, and a runner's removal.

Owns the paths, their methods and their queries. Whether it is granted is `keeper`'s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl

from infra.fleet.broker.refusals import Reason, Refused

RUNNERS: Final = "/v1/runners"
QUEUE: Final = "/v1/queue"
_REMOVAL: Final = re.compile(rf"{RUNNERS}/([1-9][0-9]{{0,17}})")
_STACK: Final = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SCOPE: Final = re.compile(r"orgs/[A-Za-z0-9-]{1,39}|repos/[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}")
_LONGEST_QUERY: Final = 500


class Kind(StrEnum):
    """As the audit line calls it."""

    RUNNERS = "runners"
    QUEUE = "queue"
    REMOVAL = "removal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """scope, number: of the runner that is to be removed, and nothing elsewhere."""

    kind: Kind
    stack: str
    scope: str = ""
    number: int = 0


def method(path: str) -> str | None:
    """The one method of a path of the controller's, None for every other path."""
    if path in (RUNNERS, QUEUE):
        return "GET"
    return "DELETE" if _REMOVAL.fullmatch(path) else None


def read(path: str, query: str) -> Errand:
    """The errand of a path that has a method. Raises Refused; names are checked, as they become part of paths."""
    removal = _REMOVAL.fullmatch(path)
    said = _query(query, {"stack", "scope"} if removal else {"stack"})
    if not _STACK.fullmatch(said["stack"]):
        raise Refused(Reason.BAD_QUERY)
    if removal is None:
        return Errand(kind=Kind.RUNNERS if path == RUNNERS else Kind.QUEUE, stack=said["stack"])
    if not _SCOPE.fullmatch(said["scope"]) or said["scope"].rpartition("/")[2] in (".", ".."):
        raise Refused(Reason.BAD_QUERY)
    return Errand(kind=Kind.REMOVAL, stack=said["stack"], scope=said["scope"], number=int(removal[1]))


def _query(query: str, names: set[str]) -> dict[str, str]:
    """Each of these names once, and no other."""
    try:
        pairs = parse_qsl(query[: _LONGEST_QUERY + 1], strict_parsing=True, max_num_fields=len(names))
    except ValueError:
        raise Refused(Reason.BAD_QUERY) from None
    if len(query) > _LONGEST_QUERY or len(pairs) != len(names) or {name for name, _ in pairs} != names:
        raise Refused(Reason.BAD_QUERY)
    return dict(pairs)
