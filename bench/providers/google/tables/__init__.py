"""The table of types that the provider serves, read from the YAML files beside this module, one a service.

A row has the properties of `ResourceType`, and under `calls` those of the class of calls that `as` names, `Rest` where
it names none. A property is a line: its kind and its marks (`fields.Field`), `mark=value` where one has a value.
A block is a mapping of its properties, with its own marks under `is`. Functions of
`spellings` are named. A key that begins with `_` is a part that several rows share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, Final

from bench.providers.google import clusters, network, node_pools, services, spellings, storage
from bench.providers.google.fields import Field, Shape
from bench.providers.google.policy import IamMember
from bench.providers.google.resource import Path, ResourceType
from bench.providers.google.rest import Rest, Wait
from infra.model.facts import read_yaml

_GRANT = "/{role}/{member}"


def _spelling(name: str) -> Callable[..., Any]:
    return getattr(spellings, name)


def _words(said: str) -> tuple[str, ...]:
    return tuple(said.split())


def _each(read: Callable[[str], Any]) -> Callable[[Mapping[str, str]], dict[str, Any]]:
    return lambda said: {name: read(value) for name, value in said.items()}


_MARKS: Final = dict.fromkeys(("replaces_when", "same", "hidden", "told", "stored", "spelled"), _spelling)
_DEFAULTS: Final[Mapping[Shape, Callable[[str], Any]]] = {
    Shape.TEXT: str, Shape.WHOLE: int, Shape.REAL: float, Shape.FLAG: lambda value: value == "true",
}  # fmt: skip
_ROWS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "identity": Path,
    "sought": Path,
    "foreseen": lambda names: frozenset(_words(names)),
    "derived": _each(Path),
    "tidied": _each(_spelling),
    "unsettled": _each(_words),
    "qualified": _spelling,
    "shortened": _spelling,
}
_CALLS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "wait": lambda name: Wait[name],
    "query": _each(Path),
    "masks": _each(_words),
    "carried": _words,
    "settling": _spelling,
    "gone": _spelling,
}
_CLASSES: Final[Mapping[str, type[Rest]]] = {
    name: found
    for module in (clusters, network, node_pools, services, storage)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, Rest)
} | {"IamMember": IamMember}


def _block(said: Mapping[str, Any]) -> Field:
    fields = {name: _field(each) for name, each in said.items() if name != "is"}
    kind, marks = _marks(said.get("is", "block"))
    return Field(kind=kind, inner=fields, **marks)


def _field(said: str | Sequence[str] | Mapping[str, Any]) -> Field:
    if isinstance(said, Mapping):
        return _block(said)
    return _plain(said if isinstance(said, str) else tuple(said))


@cache
def _plain(said: str | tuple[str, ...]) -> Field:
    kind, marks = _marks(said)
    return Field(kind=kind, **marks)


def _marks(said: str | Sequence[str]) -> tuple[Shape, dict[str, Any]]:
    name, *marks = said.split() if isinstance(said, str) else said
    kind = Shape[name.upper()]
    read: dict[str, Any] = {}
    for mark in marks:
        word, given, value = mark.partition("=")
        if word == "default":
            read[word] = _DEFAULTS[kind](value)
        else:
            read[word] = _MARKS.get(word, str)(value) if given else True
    return kind, read


def _resource_type(token: str, row: Mapping[str, Any]) -> ResourceType:
    properties = _block(row["properties"])
    read = {name: _ROWS[name](said) if name in _ROWS else said for name, said in row.items()}
    identity: Path = read["identity"]
    calls = {name: _CALLS[name](said) if name in _CALLS else said for name, said in row["calls"].items()}
    item = calls.pop("item", identity.template.removesuffix(_GRANT))
    if chosen := calls.pop("create_id", ""):
        calls["query"] = {chosen: Path(f"{{{identity.holes[-1]}}}")}
    of = _CLASSES[calls.pop("as", "Rest")]
    read["calls"] = of(item=Path(item), collection=Path(item.rpartition("/")[0]), fields=properties.inner, **calls)
    del read["properties"]
    return ResourceType(token, fields=properties.inner, **read)


def _types() -> Iterator[ResourceType]:
    for path in sorted(FilePath(__file__).parent.glob("*.yaml")):
        rows = read_yaml(path.read_text(encoding="utf-8"))
        yield from (_resource_type(token, row) for token, row in rows.items() if not token.startswith("_"))


TYPES: Final[Mapping[str, ResourceType]] = MappingProxyType({kind.token: kind for kind in _types()})
