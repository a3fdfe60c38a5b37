"""What holds of every resource there can be: no rule raises, and the same resource is judged the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.providers.google.tables import TYPES
from infra.rules.book import judge
from infra.rules.keeping import LABELLED
from infra.rules.view import HIDDEN, UNKNOWN, ResourceView
from tests.rules.right_edits import config, edit
from tests.rules.test_resource_rules import BREAKERS

KNOWN = sorted({*TYPES, *LABELLED, *(view.type for views in BREAKERS.values() for view in views)})
KEYS = sorted(
    {
        *(name for kind in TYPES.values() for name in kind.fields),
        *("accessConfigs", "containers", "email", "enableExternalIps", "env", "envs", "image", "mode", "name"),
        *(
            "networkInterfaces",
            "template",
            "tidepool-owner",
            "tidepool-pool",
            "tidepool-stack",
            "tidepool-trust",
            "value",
        ),
    }
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([HIDDEN, UNKNOWN, "fork", "tpu-ci", "forks", "allUsers", "roles/owner", "image: a"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
VIEWS = st.builds(
    ResourceView,
    type=st.sampled_from(KNOWN) | st.text(max_size=30),
    name=st.text(max_size=20),
    urn=st.text(max_size=20),
    inputs=st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), VALUES, max_size=8),
    protect=st.booleans(),
)
EDIT = edit(config())


@settings(deadline=None, max_examples=400)
@given(st.lists(VIEWS, max_size=4))
def test_no_rule_raises_on_any_resource_and_equal_resources_are_judged_alike(views: list[ResourceView]) -> None:
    found = judge(EDIT, views)
    assert found == judge(EDIT, list(reversed(views)))
    assert list(found) == sorted(found)


def test_no_rule_raises_on_values_nested_to_any_depth() -> None:
    deep: Any = "image: x"
    for _ in range(5_000):
        deep = {"template": [deep]}
    for kind in KNOWN:
        judge(EDIT, [ResourceView(type=kind, name="deep", inputs={"metadata": deep, "template": deep, "labels": deep})])
