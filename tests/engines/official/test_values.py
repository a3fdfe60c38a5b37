"""Values as the CLI writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.engines.official import values

SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("labels.owner", "marin"),
        ("dataDisks[1].mode", "READ_ONLY"),
        ('metadata["a.b"]', "dotted"),
        ('metadata["a\\"b"]', "quoted"),
        ("labels.missing", None),
        ("dataDisks[7].mode", None),
        ("token.inside", "[secret]"),
    ],
)
def test_a_property_path_leads_to_its_value(path: str, found: Any) -> None:
    inputs = {
        "labels": {"owner": "marin"},
        "dataDisks": [{"mode": "READ_WRITE"}, {"mode": "READ_ONLY"}],
        "metadata": {"a.b": "dotted", 'a"b': "quoted"},
        "token": "[secret]",
    }
    assert values.at(inputs, path) == found


@given(plain)
@settings(deadline=None)
def test_masking_leaves_plain_values_as_they_are(value: Any) -> None:
    assert values.masked(value) == value


def test_the_engines_own_inputs_are_left_out() -> None:
    assert values.inputs({"name": "a", "__defaults": [], "__internal": {}}) == {"name": "a"}


def test_a_kind_of_difference_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="moved"):
        values.change("labels", "moved", before={}, after={})


def test_a_provider_without_details_gives_top_level_changes() -> None:
    found = values.changes_of_keys(
        ["zone", "labels", "tags"],
        before={"zone": "a", "labels": {}},
        after={"zone": "b", "tags": ["x"]},
        replacing=["zone"],
    )
    assert {key: (change.kind, change.replaces) for key, change in found.items()} == {
        "zone": ("update", True),
        "labels": ("delete", False),
        "tags": ("add", False),
    }
