"""What a cluster says of itself: versions, groups, and the kinds of each, by which clients find their paths.

Of OpenAPI it has what clients decide by: that writes take `fieldValidation` and `dryRun`. They have the schemas of
built-in kinds in themselves. Source: the Kubernetes documentation, "API discovery", read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind

VERSION: Final = "v1.36.3"
_VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]


def answer(keyspace: Keyspace, parts: list[str]) -> JsonObject | None:
    """What stands at a path of discovery, by its parts; None where that is no such path."""
    served = list(keyspace.kinds())
    match parts:
        case ["version"]:
            major, minor, _ = VERSION.removeprefix("v").split(".")
            return {"major": major, "minor": minor, "gitVersion": f"{VERSION}-tidepool", "platform": "linux/amd64"}
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = sorted({kind.group for kind in served if kind.group})
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(served, name) for name in groups]}
        case ["api", version]:
            return _resources(served, "", version)
        case ["apis", group, version]:
            return _resources(served, group, version)
        case ["openapi", "v3"]:
            versions = sorted({_path(kind) for kind in served})
            return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in versions}}
        case ["openapi", "v3", *path]:
            return _openapi(kind for kind in served if _path(kind) == "/".join(path))
        case _:
            return None


def _path(kind: Kind) -> str:
    return f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"


def _group(served: list[Kind], group: str) -> JsonObject:
    """Stable versions first, and of those the newest."""
    versions = sorted({kind.version for kind in served if kind.group == group}, reverse=True)
    versions.sort(key=lambda version: "alpha" in version or "beta" in version)
    each = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": each, "preferredVersion": each[0]}


def _resources(served: list[Kind], group: str, version: str) -> JsonObject | None:
    rows: list[JsonObject] = []
    for kind in served:
        if (kind.group, kind.version) == (group, version):
            row = {"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
                   "kind": kind.kind, "verbs": _VERBS}  # fmt: skip
            rows.append(row | ({"shortNames": list(kind.short)} if kind.short else {}))
    if not rows:
        return None
    written = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": written, "resources": rows}


def _openapi(served: Iterable[Kind]) -> JsonObject | None:
    """The paths of patches with the queries that they take, by which kubectl knows who validates fields."""
    queries = [{"name": name, "in": "query", "schema": {"type": "string"}}
               for name in ("dryRun", "fieldManager", "fieldValidation", "force")]  # fmt: skip
    paths = {}
    for kind in served:
        within = "/namespaces/{namespace}" if kind.namespaced else ""
        named = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        patch = {"parameters": queries, "x-kubernetes-group-version-kind": named}
        paths[f"/{_path(kind)}{within}/{kind.plural}/{{name}}"] = {"patch": patch}
    info = {"title": "Kubernetes", "version": VERSION}
    return {"openapi": "3.0.0", "info": info, "paths": paths} if paths else None
