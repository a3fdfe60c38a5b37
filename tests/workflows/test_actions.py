"""The table of actions: complete, sourced, and compared with a newer one."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.model.errors import ConfigError
from workflows.world import Actions, read_actions

ROOT = Path(__file__).resolve().parents[2]
ENTRY = {
    "version": "v5.0.0",
    "commit": "08c6903cd8c0fde910a37f88322edcfb5dd907a8",
    "source": "https://github.com/actions/checkout/releases/tag/v5.0.0",
    "read": "2026-11-21",
}


def table(name: str = "actions/checkout", without: str = "", **changed: str) -> str:
    entry = {key: value for key, value in {**ENTRY, **changed}.items() if key != without}
    return f"version: 1\nactions:\n  {name}:\n" + "".join(f"    {key}: {value}\n" for key, value in entry.items())


def actions(name: str = "actions/checkout", without: str = "", **changed: str) -> Actions:
    return read_actions(table(name, without, **changed), "newer.yaml")


@pytest.mark.parametrize("missing", ["version", "commit", "source", "read"])
def test_an_entry_that_leaves_something_out_is_refused(missing: str) -> None:
    with pytest.raises(ConfigError, match=rf"newer\.yaml:3 actions/checkout\.{missing}\n"):
        actions(without=missing)


@pytest.mark.parametrize(
    ("key", "value"),
    [("commit", "v5"), ("commit", "08C6"), ("version", "main"), ("version", "5.x"), ("source", "memory"),
     ("source", "http://github.com/x"), ("read", "today"), ("why", "so"), ("read", "2026-13-01")],
)  # fmt: skip
def test_a_value_that_proves_nothing_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"actions/checkout\.{key}"):
        actions(**{key: value})


@pytest.mark.parametrize("text", ["version: 1\n", "version: 2\nactions: {}\n", "version: 1\nactions:\n  a/b: v1\n"])
def test_a_table_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_actions(text, "x")


def test_an_action_is_used_at_its_commit_also_from_a_folder() -> None:
    assert str(actions().uses("actions/checkout")) == f"actions/checkout@{ENTRY['commit']}"
    assert str(actions("a/b").uses("a/b/init")) == f"a/b/init@{ENTRY['commit']}"
    with pytest.raises(ConfigError, match=r"uses actions/cache.*\n.*\n  write: actions/checkout"):
        actions().uses("actions/cache")


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ("v5.0.0", False),
        ("v4.9.9", False),
        ("v5.0.1", True),
        ("v5.10.0", True),
        ("v6", True),
        ("5.1.0", True),
        ("v5", False),
    ],
)
def test_later_versions_are_found_by_number(version: str, newer: bool) -> None:
    found = actions().newer(actions(version=version))
    assert [str(each) for each in found] == (
        [f"actions/checkout: {version} after v5.0.0 ({ENTRY['source']})"] if newer else []
    )


OWN = f"""\
own:
  repository: lab/tidepool
  pins:
    greet:
      version: "2026-11-22"
      commit: "{"c" * 40}"
      tree: "{"7" * 40}"
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('version: "2026-11-22"', "version: v1"),
        ("lab/tidepool", "lab"),
        ("  tree: ", "  tre: "),
        ('commit: "c', 'commit: "'),
        ("  pins:", "  pin:"),
    ],
)
def test_a_pin_of_our_own_actions_that_is_none_is_refused_with_the_command_that_makes_one(
    before: str, after: str
) -> None:
    assert actions().own is None
    own = read_actions(table() + OWN, "table").own
    assert own is not None
    assert own.to_text() == OWN
    assert before in OWN
    with pytest.raises(ConfigError, match="workflows --pin-actions"):
        read_actions(table() + OWN.replace(before, after), "table")


def test_a_tag_that_moved_is_told_and_an_action_of_one_table_alone_is_not() -> None:
    (found,) = actions().newer(actions(commit="f" * 40))
    assert found.moved
    assert "the tag moved from 08c6" in str(found)
    assert actions().newer(actions("a/b", version="v9")) == ()
