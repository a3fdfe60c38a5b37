"""What the engine has in the place of the SDK's search for unknown values says of each value what the SDK says."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import pulumi
import pytest
from pulumi.output import UNKNOWN
from pulumi.runtime import rpc

from bench.engine import program  # what takes the SDK's place

INSIDE: dict[str, Any] = {"name": "vm", "tags": ["a"]}
INSIDE["self"] = INSIDE
LOOP: list[Any] = [1]
LOOP.append(LOOP)


class Selector(dict[str, Any]):
    """As what a provider gives: a dict with a property for each key that it may have."""

    values = None  # as of a label selector that gives none


VALUES: dict[str, Any] = {
    "nothing": None,
    "text": "vm",
    "unknown": UNKNOWN,
    "unknown in a list": ["a", [UNKNOWN]],
    "unknown in a dict": {"a": {"b": UNKNOWN}},
    "of a provider": Selector(key="pool"),
    "unknown of a provider": Selector(key=UNKNOWN),
    "known": {"a": ["b", 1, None, {"c": 2.5}]},
    "unknown in a tuple": (UNKNOWN,),
    "unknown in a set": {UNKNOWN},
    "unknown as a key": {UNKNOWN: 1},
    "asset": pulumi.StringAsset("text"),
    "archive of an unknown": pulumi.AssetArchive({"a": pulumi.StringAsset("text")}),
    "twice the same": [INSIDE["tags"], INSIDE["tags"]],
    "dict with itself": INSIDE,
    "list with itself": LOOP,
    "unknown behind itself": [LOOP, UNKNOWN],
}


@pytest.fixture(scope="module")
def sdk() -> ModuleType:
    """The SDK's own module, as it is before the engine is loaded."""
    spec = find_spec("pulumi.runtime.rpc")
    assert spec is not None
    assert spec.loader is not None
    fresh = module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return fresh


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_has_unknowns_where_the_sdk_says_so(value: Any, sdk: ModuleType) -> None:
    assert rpc.contains_unknowns.__module__ == program.__name__
    assert sdk.contains_unknowns.__module__ == "pulumi.runtime.rpc"
    assert rpc.contains_unknowns(value) is sdk.contains_unknowns(value)


def test_an_output_has_unknowns_where_the_sdk_says_so(sdk: ModuleType) -> None:
    async def said() -> None:
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        ready.set_result(UNKNOWN)
        known: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        known.set_result(False)
        output = pulumi.Output(set(), ready, known)
        assert rpc.contains_unknowns([output]) is sdk.contains_unknowns([output])

    asyncio.run(said())
