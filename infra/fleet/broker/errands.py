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
_NAME: Final = re.compile(r"[a-z0-9-]{1,64}")
_LONGEST_QUERY: Final = 500


class Kind(StrEnum):
    """As the audit line calls it."""

    RUNNERS = "runners"
    QUEUE = "queue"
    REMOVAL = "removal"


_QUERIES: Final = {
    Kind.RUNNERS: (
        frozenset({"stack"}),
        frozenset({"stack", "scope"}),
        frozenset({"stack", "scope", "name"}),
    ),
    Kind.QUEUE: (frozenset({"stack"}),),
    Kind.REMOVAL: (frozenset({"stack", "scope"}),),
}
"""What the query of each may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """scope: where a runner is to be removed, or the only one whose runners are listed. number: of the one to remove.

    name: of the one runner that is asked for. Empty, and 0, where nothing is said.
    """

    kind: Kind
    stack: str
    scope: str = ""
    number: int = 0
    name: str = ""


def method(path: str) -> str | None:
    """The one method of a path of the controller's, None for every other path."""
    if path in (RUNNERS, QUEUE):
        return "GET"
    return "DELETE" if _REMOVAL.fullmatch(path) else None


def read(path: str, query: str) -> Errand:
    """The errand of a path that has a method. Raises Refused; names are checked, as they become part of paths."""
    removal = _REMOVAL.fullmatch(path)
    kind = Kind.REMOVAL if removal else Kind.RUNNERS if path == RUNNERS else Kind.QUEUE
    said = _query(query, _QUERIES[kind])
    if not _STACK.fullmatch(said["stack"]):
        raise Refused(Reason.BAD_QUERY)
    scope, name = said.get("scope", ""), said.get("name", "")
    if scope and (not _SCOPE.fullmatch(scope) or scope.rpartition("/")[2] in (".", "..")):
        raise Refused(Reason.BAD_QUERY)
    if name and not _NAME.fullmatch(name):
        raise Refused(Reason.BAD_QUERY)
    return Errand(kind=kind, stack=said["stack"], scope=scope, number=int(removal[1]) if removal else 0, name=name)


def _query(query: str, forms: tuple[frozenset[str], ...]) -> dict[str, str]:
    """One of these sets of names, each once and with a value."""
    try:
        pairs = parse_qsl(query[: _LONGEST_QUERY + 1], keep_blank_values=True, max_num_fields=max(map(len, forms)))
    except ValueError:
        raise Refused(Reason.BAD_QUERY) from None
    said = dict(pairs)
    if len(query) > _LONGEST_QUERY or len(pairs) != len(said) or said.keys() not in forms or not all(said.values()):
        raise Refused(Reason.BAD_QUERY)
    return said
