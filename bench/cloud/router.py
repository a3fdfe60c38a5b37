"""From a verb and a path to the method of a discovery document.

Owns flat paths, custom verbs (`...:start`) and percent-encoding of single segments. One root serves all services, so a
path may belong to several; the first document that serves it wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

from bench.cloud.cloud import HANDLERS
from bench.cloud.discovery import DOCUMENTS, Method, methods
from bench.cloud.errors import ApiError

_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Match:
    """ids: flat path variables, decoded. params: path parameters by their discovery names."""

    method: Method
    ids: Mapping[str, str]
    params: Mapping[str, str]


def match(verb: str, raw_path: str) -> Match:
    """Raises 404 for a path of no API, 405 for a verb it lacks, and 501 for a method that is not served."""
    path = raw_path.strip("/")
    prefix = next((each for each in DOCUMENTS if path.startswith(f"{each}/")), None)
    named = [
        (method, hit)
        for method in (_methods(prefix, path.count("/")) if prefix else ())
        if (hit := _pattern(method.template).fullmatch(path))
    ]
    for method, hit in named:
        if method.verb == verb and method.id in HANDLERS:
            ids = {name: unquote(value) for name, value in hit.groupdict().items()}
            return Match(method, ids, _params(method, ids, unquote(path)))
    if not named:
        raise ApiError(404, f"The path '{raw_path}' belongs to no method of the APIs served here.")
    known = sorted({f"{method.id} ({method.api.version})" for method, _ in named if method.verb == verb})
    if not known:
        raise ApiError(405, f"{verb} is not a verb of '{raw_path}'.", status="UNIMPLEMENTED")
    raise ApiError(501, f"The local cloud does not serve {' or '.join(known)}.")


@cache
def _methods(prefix: str, slashes: int) -> list[Method]:
    """Those with as many segments; where two fit a path, the one with more literals is the first."""

    def literals(method: Method) -> list[tuple[bool, bool]]:
        return [(part.startswith("{"), part.endswith("}")) for part in method.template.split("/")]

    return sorted((each for each in methods(prefix) if each.template.count("/") == slashes), key=literals)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_VARIABLE.sub(r"(?P<\1>[^/]+)", template))


def _params(method: Method, ids: dict[str, str], path: str) -> dict[str, str]:
    before, plus, rest = method.path.partition("{+")
    variable, _, after = rest.partition("}")
    return {variable: path[len(before) : len(path) - len(after)]} if plus else ids
