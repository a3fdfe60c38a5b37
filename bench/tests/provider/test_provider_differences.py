"""What a change of an input means: nothing, an update in place, or a replacement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.engine.provider import UNKNOWN
from bench.providers.google import GoogleProvider
from bench.providers.google.fields import Field, Shape
from bench.providers.google.tables import TYPES
from infra.model.facts import read_yaml

PROVIDER = GoogleProvider("http://127.0.0.1:1", "hai-gcp-models")
VM = "gcp:tpu/v2Vm:V2Vm"
NODE = "projects/hai-gcp-models/locations/us-west4-a/nodes/tpu-ci-0"


def table(name: str) -> Any:
    return read_yaml(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))


def known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: known(each) for key, each in value.items()}
    return UNKNOWN if value == "UNKNOWN" else value


@pytest.mark.parametrize(
    ("token", "row"), [(token, row) for token, rows in table("differences").items() for row in rows], ids=str
)
def test_a_difference_is_an_update_or_a_replacement(token: str, row: dict[str, Any]) -> None:
    found = PROVIDER.diff(token, "ID", row["old"], row["old"], known(row["new"])).detailed
    told = {path: f"{each.kind} replace" if each.replaces else each.kind for path, each in found.items()}
    assert {path: each.replace("update replace", "replace") for path, each in told.items()} == row["found"]


def test_no_other_input_replaces_than_those_of_the_published_schema() -> None:
    """A mark in the table that nobody asked for would replace VMs that nobody expects to lose."""

    def marked(fields: Mapping[str, Field], prefix: str = "") -> Iterator[str]:
        for name, field in fields.items():
            if field.inner and not field.computed:
                yield from marked(
                    field.inner, f"{prefix}{name}[]." if field.kind is Shape.BLOCKS else f"{prefix}{name}."
                )
            elif field.replaces:
                yield prefix + name

    assert {token: {*marked(kind.fields)} for token, kind in TYPES.items()} == {
        token: {*paths.split()} for token, paths in table("replacing").items()
    }


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({"acceleratorType": "v5litepod-8"}, True),
        ({"acceleratorType": "v5litepod-8", "name": "tpu-ci-1"}, False),
        ({"description": "x"}, False),
    ],
)
def test_a_replacement_with_the_same_name_deletes_first(change: dict[str, Any], first: bool) -> None:
    old = {"name": "tpu-ci-0", "zone": "us-west4-a", "acceleratorType": "v5litepod-4"}
    assert PROVIDER.diff(VM, NODE, old, old, {**old, **change}).delete_before_replace == first
