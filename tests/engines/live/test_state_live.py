"""What is forgotten and taken in again by name, the same on either engine, as each reads the state of the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.engines import EngineName
from tests.engines.live.live_stacks import SMALL, write_small
from tests.engines.live.live_worlds import World, begun, stopped, tidepool

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("official")]
ENGINES = (EngineName.PULUMI, EngineName.LOCAL)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = begun(tmp_path_factory.mktemp("state"), EngineName.LOCAL, SMALL, write_small)
    asked(made, EngineName.LOCAL, "up")
    yield made
    stopped(made)


def asked(world: World, engine: EngineName, verb: str, *words: str) -> dict[str, Any]:
    return said(world, verb, SMALL, *words, "--engine", engine.value)


def said(world: World, *words: str) -> dict[str, Any]:
    done = tidepool(world, *words, "--cloud", "local", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def changed(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(step["op"], step["name"]) for step in document["steps"] if step["op"] != "same"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bucket_is_forgotten_and_adopted_by_name_and_nothing_differs(world: World, engine: EngineName) -> None:
    (bucket,) = (
        step["name"] for step in asked(world, engine, "preview")["steps"] if step["type"] == "gcp:storage/bucket:Bucket"
    )
    gone = changed(asked(world, engine, "forget", bucket, "--yes"))
    assert ("retain", bucket) in gone
    assert {op for op, _ in gone} == {"retain"}
    assert ("adopt", bucket) in changed(asked(world, engine, "adopt", bucket))
    told = said(world, "history", SMALL)["entries"]
    assert [(each["verb"], each["engine"], each["result"]) for each in told[:2]] == [
        ("adopt", engine.value, "done"),
        ("forget", engine.value, "done"),
    ]
    assert ("retain", bucket) in {(each["op"], each["name"]) for each in told[1]["changes"]}
    asked(world, engine, "up")
    for other in ENGINES:
        assert changed(asked(world, other, "preview")) == set()
