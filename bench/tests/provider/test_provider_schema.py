"""The table speaks the names and kinds of the published SDK, so that a state is understood by the official provider."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pulumi
import pytest

from bench.providers.google.fields import Field, Shape
from bench.providers.google.tables import TYPES

_OF_EVERY_RESOURCE = frozenset({"id", "urn", "pulumi_resource_name", "pulumi_resource_type"})
_SCALARS = {Shape.TEXT: str, Shape.WHOLE: int, Shape.REAL: float, Shape.FLAG: bool}


def published(token: str) -> type:
    """The SDK's class of a type."""
    module, _, name = token.removeprefix("gcp:").partition(":")
    return getattr(importlib.import_module(f"pulumi_gcp.{module.partition('/')[0]}"), name)


def properties(owner: type) -> dict[str, Any]:
    """The properties of an SDK class by Pulumi's names, each with its type and without Output and Optional."""
    found = {}
    for name, member in inspect.getmembers(owner, lambda member: isinstance(member, property)):
        getter = member.fget
        pulumi_name = getattr(getter, "_pulumi_name", name)
        if name not in _OF_EVERY_RESOURCE or not issubclass(owner, pulumi.Resource):
            found[pulumi_name] = bare(typing.get_type_hints(getter)["return"])
    return found


def bare(hint: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        return bare(next(each for each in arguments if each is not type(None)))
    if getattr(origin, "__name__", "") == "Output":
        return bare(arguments[0])
    return hint


def faults(path: str, fields: Mapping[str, Field], owner: type) -> Iterator[str]:
    known = properties(owner)
    for name, field in fields.items():
        hint = known.get(name)
        origin, (first, *_) = getattr(typing.get_origin(hint), "__name__", ""), typing.get_args(hint) or (None,)
        match field.kind:
            case Shape.BLOCK if hint is not None:
                yield from faults(f"{path}{name}.", field.inner, hint)
            case Shape.BLOCKS if origin == "Sequence":
                yield from faults(f"{path}{name}[].", field.inner, bare(first))
            case Shape.TEXTS | Shape.REALS if origin == "Sequence":
                wanted = str if field.kind is Shape.TEXTS else float
                yield from () if bare(first) is wanted else (f"{path}{name} is of {first} in the SDK",)
            case Shape.TABLE if origin == "Mapping":
                pass
            case _ if hint is None or _SCALARS.get(field.kind) is not hint:
                yield f"{path}{name} is {field.kind.value} here and {hint} in the SDK"


@pytest.mark.parametrize("token", sorted(TYPES))
def test_every_property_has_the_name_and_kind_of_the_sdk(token: str) -> None:
    assert [*faults("", TYPES[token].fields, published(token))] == []


@pytest.mark.parametrize("token", sorted(TYPES))
def test_every_output_of_the_sdk_is_given(token: str) -> None:
    """But for inputs that the table refuses by name, which are as many as a program here could ever want."""
    kind = TYPES[token]
    given = {*kind.fields, *({"effectiveLabels", "pulumiLabels"} if kind.labelled else ())}
    inputs = set(inspect.signature(published(token).__dict__["_internal_init"]).parameters)
    left = properties(published(token)).keys() - given
    assert {name for name in left if re.sub("([A-Z])", r"_\1", name).lower() not in inputs} == set()
