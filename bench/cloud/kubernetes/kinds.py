"""Which kinds a cluster serves: the built-in ones of `builtin.json`, and those of its CustomResourceDefinitions.

Owns what of a kind requests are answered by. Leaves the definitions themselves, objects as any other, to `keyspace`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import shapes
from bench.cloud.kubernetes.shapes import Shape


@dataclass(frozen=True, slots=True)
class Kind:
    """status: whether it is a subresource that is written by itself. schema: the OpenAPI schema of a custom kind, None
    of a built-in one. shown_when_deleted: a delete
    answers with the object rather than with a success.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    status: bool
    singular: str
    short: tuple[str, ...] = ()
    shape: Shape = field(default=shapes.ANY, repr=False)
    schema: JsonObject | None = field(default=None, repr=False)
    shown_when_deleted: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """As messages name it: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def named(self) -> str:
        """As refusals of a single object name its kind: `Deployment.apps`, `Pod`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def about(self, name: str = "") -> JsonObject:
        """Of what a Status tells."""
        told = {"group": self.group, "kind": self.plural, "name": name}
        return {key: each for key, each in told.items() if each}


@cache
def builtin() -> tuple[Kind, ...]:
    return tuple(
        Kind(
            group=row["apiVersion"].rpartition("/")[0],
            version=row["apiVersion"].rpartition("/")[2],
            kind=row["kind"],
            plural=row["plural"],
            namespaced=row["namespaced"],
            status=row["status"],
            singular=row["kind"].lower(),
            short=tuple(filter(None, [row["short"]])),
            shape=shapes.shape_of(row["type"]),
            shown_when_deleted=row["shown_when_deleted"],
        )
        for row in shapes.document()["kinds"]
    )


@cache
def _by_place() -> dict[tuple[str, str, str], Kind]:
    return {(kind.group, kind.version, kind.plural): kind for kind in builtin()}


def of_kind(kind: str) -> Kind:
    """A built-in kind by its name; for those that the API itself treats specially."""
    return next(each for each in builtin() if each.kind == kind)


DEFINITIONS: Final = "CustomResourceDefinition"
_SHAPES: dict[tuple[str, ...], Shape] = {}
"""Shapes of schemas, by the uid, name and generation of their definition and the version."""


def of_definition(definition: JsonObject) -> Iterator[Kind]:
    """The kinds that a definition serves, one a version."""
    spec, metadata = definition["spec"], definition["metadata"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        schema = version.get("schema", {}).get("openAPIV3Schema", {})
        place = (metadata["uid"], metadata["name"], str(metadata.get("generation", 1)), version["name"])
        if place not in _SHAPES:
            _SHAPES[place] = shapes.shape_of_schema(schema, root=True)
        names = spec["names"]
        yield Kind(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec["scope"] == "Namespaced",
            status="status" in version.get("subresources", {}),
            singular=names.get("singular") or names["kind"].lower(),
            short=tuple(names.get("shortNames", ())),
            shape=_SHAPES[place],
            schema=schema,
        )


def at(group: str, version: str, plural: str) -> Kind | None:
    """The built-in kind behind a path, None where there is none."""
    return _by_place().get((group, version, plural))
