"""Which kinds a cluster serves: the built-in ones of `builtin.json`, and those of its CustomResourceDefinitions.

Owns what of a kind requests are answered by. Leaves the definitions themselves, objects as any other, to `keyspace`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes.schemas import METADATA, Schema, document, schema_of

DEFINITIONS: Final = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Kind:
    """status: whether it is a subresource that is written by itself."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    status: bool
    singular: str
    short: tuple[str, ...]
    schema: Schema = field(repr=False)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """As messages name it: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


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
            schema=schema_of(row["type"]),
        )
        for row in document()["kinds"]
    )


def of_kind(kind: str) -> Kind:
    """A built-in kind by its name; for those that the API itself treats specially."""
    return next(each for each in builtin() if each.kind == kind)


def of_definition(definition: JsonObject) -> Iterator[Kind]:
    """The kinds that a definition serves, one a version."""
    spec = definition["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if version.get("served"):
            schema = version.get("schema", {}).get("openAPIV3Schema", {})
            every = {"apiVersion": schema_of("string"), "kind": schema_of("string"), "metadata": schema_of(METADATA)}
            yield Kind(
                group=spec["group"],
                version=version["name"],
                kind=names["kind"],
                plural=names["plural"],
                namespaced=spec["scope"] == "Namespaced",
                status="status" in version.get("subresources", {}),
                singular=names.get("singular") or names["kind"].lower(),
                short=tuple(names.get("shortNames", ())),
                schema={**schema, "properties": {**schema.get("properties", {}), **every}},
            )
