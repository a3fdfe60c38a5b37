"""Whatever people write or say, they are told what is wrong with it, and never that Tidepool itself is at fault.

One fuzz over stack files, with every section and values that no section expects; one over every command's arguments.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infra.cli.app import cli
from tests.cli.conftest import Checkout
from tests.program.stacks import text_of
from tests.synthetic_lab import lend

FAULT = "fault of Tidepool itself"

SECTIONS: dict[str, Any] = {
    "tidepool:vm_labels": {"team": "tpu"},
    "tidepool:reservations": [
        {"name": "r", "project": "hai-gcp-models", "zone": "us-central2-b", "generation": "v4", "chips": 64}
    ],
    "tidepool:quotas": [
        {
            "project": "hai-gcp-models",
            "zone": "us-west4-a",
            "generation": "v5e",
            "chips": 64,
            "kind": "preemptible",
        }
    ],
    "tidepool:runners": {
        "app": {"id": 1, "installation": 2, "key_secret": "tidepool-github-app-key"},
        "groups": {"member": "tpu"},
        "boot_minutes": 20,
        "job_minutes": 120,
    },
    "tidepool:controller": {"region": "us-central1", "every_minutes": 2, "share": 0.5, "notify": ["a@my-lab.org"]},
    "tidepool:freezes": [
        {
            "name": "winter",
            "time_zone": "Europe/Berlin",
            "from": "2026-12-20",
            "to": "2027-01-03T12:00",
            "override": {"until": "2026-12-21", "reason": "a paper"},
        }
    ],
    "tidepool:budget": {"usd_per_month": 100000},
    "tidepool:exceptions": [{"rule": "freeze", "subject": "freezes[winter]", "reason": "r", "expires": "2026-12-24"}],
}


DOCUMENT: dict[str, Any] = yaml.safe_load(text_of("ci"))
"""The ci stack with every section and every key of a pool in it."""
DOCUMENT["config"] |= SECTIONS
FIRST, SECOND, *_ = DOCUMENT["config"]["tidepool:pools"]
FIRST |= {"label": "route", "fallback": [{"zone": "us-west4-a", "capacity": "spot"}]}
SECOND |= {"data_disks": [{"source_disk": "projects/p/zones/us-central1-a/disks/d", "mode": "read-only"}]}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a document, as the path to it."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield from places(item, (*path, step))


PLACES = list(places(DOCUMENT))
ODD: list[Any] = [
    None, True, 0, -1, 7, 1.5, 10**18, "", " ", "x", "é", "-", "*", "9999-12-31", "0001-01-01", "9999-12-31T23:59",
    "0001-01-01T00:00", "2026-02-30", "Etc/GMT-14", "../etc", "localtime", "a/b", "a/b/c", "[", "{}", "[1]", "null",
    '"text"', "x" * 5000, "\U0001f642", [], [7], [None], [[]], [{}], ["x", "x"], {}, {"x": 7}, {"name": "x"},
    {"reserved": 7}, {"secure": "v1:x"}, {"us-west4-a": 9999}, {"us-west4-a": None}, {"zone": "us-west4-a"},
]  # fmt: skip
DROPPED = object()
edits = st.lists(
    st.tuples(st.sampled_from(PLACES), st.sampled_from([DROPPED, *ODD])), min_size=1, max_size=3
)  # fmt: skip


def edited(changes: list[tuple[tuple[Any, ...], Any]]) -> str:
    """The document with values put in the places of others, as the text of a stack file."""
    document = copy.deepcopy(DOCUMENT)
    for path, value in changes:
        holder: Any = document
        try:
            for step in path[:-1]:
                holder = holder[step]
            if value is DROPPED:
                del holder[path[-1]]
            else:
                holder[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # another edit has taken the place away
    # By libyaml, which takes a tenth of the time.
    return yaml.dump(document, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)


GOOD = edited([])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Result]:
    """Runs a command on a copy of the committed files, at a home that is a file: nothing is ever started for it.

    It runs in that copy: whatever an argument is taken for, no file comes to stand in the checkout.
    """
    root = lend(tmp_path_factory.mktemp("fuzz"))
    (root / "home").write_text("no folder")

    def run(*arguments: str) -> Result:
        with contextlib.chdir(root):
            result = Checkout(root).run(*arguments, TIDEPOOL_HOME=str(root / "home"))
        assert FAULT not in result.output, (arguments, result.output)
        assert result.exit_code in (0, 1, 2), (arguments, result.output)
        return result

    return run


@given(edits)
@example([(("config", "tidepool:pools", 0, "serves"), [7])])
@example([(("config", "tidepool:freezes", 0, "to"), "9999-12-31")])
@example([(("config", "tidepool:freezes", 0, "override", "until"), "9999-12-31")])
@example([(("config", "tidepool:exceptions", 0, "expires"), "9999-12-31")])
@settings(deadline=None, max_examples=120)
def test_no_stack_file_is_our_fault(
    run: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    good, odd = folder / "good.yaml", folder / "odd.yaml"
    good.write_text(GOOD)
    odd.write_text(edited(changes))
    run("explain", "ci", "--base", str(good), "--head", str(odd), "--json")
    run("explain", "ci", "--base", str(odd), "--head", str(good), "--format", "markdown")
    run("explain", "ci", "--base", str(odd), "--head", str(odd))
    (folder / "fuzz0" / "stacks" / "Pulumi.ci.yaml").write_text(odd.read_text())
    nightly = str(folder / "fuzz0" / "stacks" / "Pulumi.nightly.yaml")
    run("explain", "nightly", "--base", nightly, "--head", nightly)
    run("status", "ci")
    run("why", "tpu-ci-us-west4-a-0")


def test_the_file_that_is_fuzzed_is_a_right_one(run: Callable[..., Result], tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(GOOD)
    result = run("explain", "ci", "--base", str(good), "--head", str(good), "--json")
    assert "stack-file" not in result.output


@pytest.mark.parametrize("name", ["my_ci", "my.ci", "Ci", "-", ""])
@pytest.mark.parametrize("command", ["preview", "up", "explain", "status", "reconcile"])
def test_a_file_whose_name_is_no_stacks_is_refused(checkout: Checkout, command: str, name: str) -> None:
    checkout.path(name).write_text(checkout.text("ci"))
    try:
        result = checkout.run(command, "--", name)
    finally:
        checkout.path(name).unlink()
    assert (result.exit_code, FAULT in result.output) == (2, False), result.output
    assert "1 to 63 lower-case letters" in result.output


@pytest.mark.parametrize("home", ["/dev/null/home", "/proc/home", "/etc/hostname"])
@pytest.mark.parametrize("command", [("preview", "ci"), ("status", "ci"), ("cloud", "start"), ("up", "ci", "--json")])
def test_a_home_that_cannot_be_made_is_named_with_what_to_set(
    checkout: Checkout, command: tuple[str, ...], home: str
) -> None:
    result = checkout.run(*command, TIDEPOOL_HOME=home)
    assert (result.exit_code, FAULT in result.output) == (2, False), result.output
    assert f"TIDEPOOL_HOME: {home}" in result.output


WORDS = [
    "ci", "tpu-ci", "tpu-ci-us-west4-a-0", "nightly", "my_ci", "my.ci", "Ci", "", " ", "-", "--", "..", "../x", "/",
    "/dev/null/x", "/etc", "/etc/passwd", "stacks", "stacks/Pulumi.ci.yaml", "HEAD", "*", "[", "{}", "x=y", "ci=/nope",
    "0", "-1", "1e400", "nan", "9999-12-31", "a/b", "http://[", "é\U0001f642", "\udcff", "x" * 300,
]  # fmt: skip
LONG = {"test", "bench", "lock"}
"""Commands that work for minutes on the checkout's own code, whatever is said to them."""


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        elif name not in LONG:
            yield (*path, name), found


COMMANDS = list(commands(cli))


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """One command with words for its arguments and some of its options."""
    path, command = draw(st.sampled_from(COMMANDS))
    said: list[str] = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            said += draw(st.lists(st.sampled_from(WORDS), min_size=int(parameter.required), max_size=2))
        elif isinstance(parameter, click.Option) and draw(st.integers(0, 2)) == 0:
            values = getattr(parameter.type, "choices", WORDS)
            flag = parameter.is_flag or parameter.count
            said += [parameter.opts[0]] if flag else [f"{parameter.opts[0]}={draw(st.sampled_from(list(values)))}"]
    return [*path, *draw(st.permutations(said))]


@given(lines())
@settings(deadline=None, max_examples=120)
def test_no_word_of_a_command_line_is_our_fault(run: Callable[..., Result], said: list[str]) -> None:
    run(*itertools.filterfalse({"--watch"}.__contains__, said))
