"""What a change of an input means: nothing, an update in place, or a replacement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


_TEXT = st.text(alphabet="abc-.", min_size=1, max_size=4)
_VMS = st.fixed_dictionaries(
    {"name": _TEXT, "zone": _TEXT, "runtimeVersion": _TEXT},
    optional={
        "labels": st.dictionaries(_TEXT, _TEXT, max_size=3),
        "metadata": st.dictionaries(_TEXT, _TEXT, max_size=3),
        "tags": st.lists(_TEXT, max_size=3),
        "description": _TEXT,
        "schedulingConfig": st.sampled_from([{"preemptible": True}, {"spot": True}, {"reserved": True, "spot": False}]),
        "networkConfig": st.fixed_dictionaries({"network": _TEXT}, optional={"enableExternalIps": st.booleans()}),
        "dataDisks": st.lists(st.fixed_dictionaries({"sourceDisk": _TEXT}), max_size=2),
    },
)


@given(old=_VMS, new=_VMS)
@settings(deadline=None, max_examples=200, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_only_equal_vms_show_no_difference(old: dict[str, Any], new: dict[str, Any]) -> None:
    """And a difference replaces exactly when something else than the five fields that the API can change is in it."""
    before, after = (PROVIDER.check(VM, inputs).inputs for inputs in (old, new))
    outputs = PROVIDER.preview_outputs(VM, before, None)
    assert PROVIDER.diff(VM, "ID", before, outputs, before).detailed == {}
    found = PROVIDER.diff(VM, "ID", before, outputs, after).detailed
    mutable = ("labels", "metadata", "tags", "description", "dataDisks", "pulumiLabels")
    for path, each in found.items():
        assert each.replaces == (not path.startswith(mutable)), path
