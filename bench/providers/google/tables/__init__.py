"""The table of types that the provider serves, read from the YAML files beside this module, one a service.

A row has the properties of `ResourceType`, and under `calls` those of the class of calls that `as` names, `Rest` where
it names none. A property is a line: its kind and its marks (`fields.Field`), `mark=value` where one has a value.
A block is a mapping of its properties, with its own marks under `is`. Functions of
`spellings` are named. A key that begins with `_` is a part that several rows share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from bench.providers.google import clusters, node_pools, policy, services, spellings
from bench.providers.google.fields import Field, Shape
from bench.providers.google.resource import ResourceType, holes
from bench.providers.google.rest import Rest
from infra.model.facts import read_yaml

_FUNCTIONS: Final = frozenset(
    {
        "gone", "qualified", "replaces_when", "same", "settling", "shortened", "spelled", "stored", "tidied", "shown",
        "wanted",
    }
)  # fmt: skip
_CLASSES: Final[Mapping[str, type[Rest]]] = {
    name: found
    for module in (clusters, node_pools, policy, services)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, Rest)
}


def _read(said: Mapping[str, Any]) -> dict[str, Any]:
    """With the functions that are named."""
    return {name: getattr(spellings, value) if name in _FUNCTIONS else value for name, value in said.items()}


def _field(said: str | Sequence[str] | Mapping[str, Any]) -> Field:
    if not isinstance(said, Mapping):
        return _marked(said if isinstance(said, str) else tuple(said))
    inner = {name: _field(each) for name, each in said.items() if name != "is"}
    return _marked(said.get("is", "block"), inner)


def _marked(said: str | Sequence[str], inner: Mapping[str, Field] = {}) -> Field:
    kind, *marks = said.split() if isinstance(said, str) else said
    read: dict[str, Any] = {}
    for word, given, value in (mark.partition("=") for mark in marks):
        read[word] = (read_yaml(value) if word == "default" else value) if given else True
    return Field(kind=Shape[kind.upper()], inner=inner, **_read(read))


def _resource_type(token: str, row: dict[str, Any]) -> ResourceType:
    fields, identity = _field(row.pop("properties")).inner, row["identity"]
    calls = _read(row.pop("calls"))
    item = calls.pop("item", identity.removesuffix("/{role}/{member}"))
    if chosen := calls.pop("create_id", ""):
        calls["query"] = {chosen: f"{{{holes(identity)[-1]}}}"}
    of = _CLASSES[calls.pop("as", "Rest")]
    made = of(item=item, collection=item.rpartition("/")[0], fields=fields, **calls)
    return ResourceType(token, fields=fields, calls=made, **_read(row))


def _types() -> Iterator[ResourceType]:
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        rows = read_yaml(path.read_text(encoding="utf-8"))
        yield from (_resource_type(token, row) for token, row in rows.items() if not token.startswith("_"))


TYPES: Final[Mapping[str, ResourceType]] = MappingProxyType({kind.token: kind for kind in _types()})
