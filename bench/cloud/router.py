"""From a verb and a path to the method of a discovery document.

Owns the tree of flat paths, custom verbs (`...:start`) and percent-encoding of single segments. One root serves all
services, so a path may belong to several; one that has a handler wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from bench.cloud.discovery import DOCUMENTS, Method, methods
from bench.cloud.errors import ApiError


@dataclass(frozen=True, slots=True)
class Match:
    """ids: flat path variables, decoded. params: path parameters by their discovery names."""

    method: Method
    ids: Mapping[str, str]
    params: Mapping[str, str]


@dataclass(slots=True, eq=False)
class _Node:
    literals: dict[str, _Node] = field(default_factory=dict)
    variable: _Node | None = None
    # `{nodesId}:start` hangs below "start"; the variable's own node has no verb.
    verbs: dict[str, _Node] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    all_methods: list[Method] = field(default_factory=list)


class Router:
    """`handled`: ids of the methods that are served."""

    def __init__(self, handled: frozenset[str]) -> None:
        self._handled = handled
        self._trees: dict[str, _Node] = {}

    def match(self, verb: str, raw_path: str) -> Match:
        """Raises 404 for a path of no API, 405 for a verb it lacks, and 501 for a method that is not served."""
        segments = [unquote(segment) for segment in raw_path.strip("/").split("/")]
        found = _find(self._tree(segments), segments, 0, verb)
        if found is None:
            raise ApiError(404, f"The path '{raw_path}' belongs to no method of the APIs served here.")
        method = found.methods.get(verb)
        if method is None:
            self._refuse(found, verb, raw_path)
            raise AssertionError
        return Match(method, *_variables(method, segments))

    def _refuse(self, found: _Node, verb: str, raw_path: str) -> None:
        known = [method for method in found.all_methods if method.verb == verb]
        if not known:
            raise ApiError(405, f"{verb} is not a verb of '{raw_path}'.", status="UNIMPLEMENTED")
        names = " or ".join(sorted(f"{method.id} ({method.api.version})" for method in known))
        raise ApiError(501, f"The local cloud does not serve {names}.")

    def _tree(self, segments: list[str]) -> _Node:
        prefix = segments[0] if segments[0] in DOCUMENTS else "/".join(segments[:2])
        if prefix not in DOCUMENTS:
            return _Node()
        if prefix not in self._trees:
            self._trees[prefix] = self._planted(prefix)
        return self._trees[prefix]

    def _planted(self, prefix: str) -> _Node:
        root = _Node()
        for method in methods(prefix, self._handled):
            node = root
            for segment in method.template.split("/"):
                node = _branch(node, segment)
            node.all_methods.append(method)
            if method.id in self._handled:
                node.methods.setdefault(method.verb, method)
        return root


def _branch(node: _Node, segment: str) -> _Node:
    if not segment.startswith("{"):
        return node.literals.setdefault(segment, _Node())
    if node.variable is None:
        node.variable = _Node()
    verb = segment.partition("}")[2].removeprefix(":")
    return node.variable.verbs.setdefault(verb, _Node()) if verb else node.variable


def _find(node: _Node, segments: list[str], index: int, verb: str) -> _Node | None:
    """The node where the path ends; one that answers the verb is preferred to one that merely exists."""
    if index == len(segments):
        return node if node.all_methods else None
    segment = segments[index]
    fallback = None
    for candidate in _candidates(node, segment):
        found = _find(candidate, segments, index + 1, verb)
        if found is not None and verb in found.methods:
            return found
        fallback = fallback or found
    return fallback


def _candidates(node: _Node, segment: str) -> list[_Node]:
    found = []
    if segment in node.literals:
        found.append(node.literals[segment])
    if node.variable is not None and segment:
        custom = segment.rpartition(":")[2]
        if custom != segment and custom in node.variable.verbs:
            found.append(node.variable.verbs[custom])
        found.append(node.variable)
    return found


def _variables(method: Method, segments: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    ids = {}
    for pattern, segment in zip(method.template.split("/"), segments, strict=True):
        if pattern.startswith("{"):
            name, _, suffix = pattern[1:].partition("}")
            ids[name] = segment.removesuffix(suffix)
    if method.wildcard is None:
        return ids, ids
    variable, before, after = method.wildcard
    path = "/".join(segments)
    return ids, {variable: path[len(before) : len(path) - len(after)]}
