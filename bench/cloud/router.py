"""From a verb and a path to the method of a discovery document.

Owns flat paths, custom verbs (`...:start`) and percent-encoding of single segments. One root serves all services, so a
path may belong to several; the first document that serves it wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from bench.cloud.discovery import DOCUMENTS, Method, methods
from bench.cloud.errors import ApiError


@dataclass(frozen=True, slots=True)
class Match:
    """ids: flat path variables, decoded. params: path parameters by their discovery names."""

    method: Method
    ids: Mapping[str, str]
    params: Mapping[str, str]


class Router:
    """`handled`: ids of the methods that are served."""

    def __init__(self, handled: frozenset[str]) -> None:
        self._handled = handled
        # Prefix -> number of segments -> the methods of such paths, those with the most literals first.
        self._methods: dict[str, dict[int, list[tuple[list[str], Method]]]] = {}

    def match(self, verb: str, raw_path: str) -> Match:
        """Raises 404 for a path of no API, 405 for a verb it lacks, and 501 for a method that is not served."""
        segments = [unquote(segment) for segment in raw_path.strip("/").split("/")]
        named = [
            (method, ids) for template, method in self._of(segments) if (ids := _ids(template, segments)) is not None
        ]
        for method, ids in named:
            if method.verb == verb and method.id in self._handled:
                return Match(method, ids, _params(method, ids, segments))
        if not named:
            raise ApiError(404, f"The path '{raw_path}' belongs to no method of the APIs served here.")
        known = sorted({f"{method.id} ({method.api.version})" for method, _ in named if method.verb == verb})
        if not known:
            raise ApiError(405, f"{verb} is not a verb of '{raw_path}'.", status="UNIMPLEMENTED")
        raise ApiError(501, f"The local cloud does not serve {' or '.join(known)}.")

    def _of(self, segments: list[str]) -> list[tuple[list[str], Method]]:
        prefix = segments[0] if segments[0] in DOCUMENTS else "/".join(segments[:2])
        if prefix not in DOCUMENTS:
            return []
        if prefix not in self._methods:
            found = self._methods[prefix] = defaultdict(list)
            for method in methods(prefix, self._handled):
                template = method.template.split("/")
                found[len(template)].append((template, method))
            for each in found.values():
                each.sort(key=lambda pair: [(part.startswith("{"), part.endswith("}")) for part in pair[0]])
        return self._methods[prefix][len(segments)]


def _ids(template: list[str], segments: list[str]) -> dict[str, str] | None:
    """The variables of a flat path, None where it does not fit."""
    ids = {}
    for part, segment in zip(template, segments, strict=True):
        name, _, suffix = part.removeprefix("{").partition("}")
        if part == name:
            if part != segment:
                return None
        elif not segment.endswith(suffix) or segment == suffix:
            return None
        else:
            ids[name] = segment.removesuffix(suffix)
    return ids


def _params(method: Method, ids: dict[str, str], segments: list[str]) -> dict[str, str]:
    if method.wildcard is None:
        return ids
    variable, before, after = method.wildcard
    path = "/".join(segments)
    return {variable: path[len(before) : len(path) - len(after)]}
