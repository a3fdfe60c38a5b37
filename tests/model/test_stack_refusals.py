"""What a stack file may not say: each edit of `refusals.yaml` is refused, in the words of one golden."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infra.model.errors import ConfigError
from infra.model.stack import load_stack, stack_from_pulumi
from infra.model.stack_text import pulumi_values
from tests.model.given import HEAD, POOL, SOURCE, line_of, parse, pool, refusals, stack_text

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "refusals.txt"
TABLE: Mapping[str, Any] = yaml.safe_load((HERE / "refusals.yaml").read_text(encoding="utf-8"))
BESIDE = {"bucket.name": "my-lab-nightly", "pools": []}
"""What another stack has in any case."""
SECRETS = ("hunter2", "v1:abc")
POOLS = "tidepool:pools"


class Case(NamedTuple):
    name: str
    text: str
    stack: str
    sibling: str | None


def edited(base: Mapping[str, Any], edits: Mapping[str, Any]) -> str:
    """The text of a base with values put in or, after a `-`, taken out."""
    config: Any = deepcopy(base)
    for path, value in edits.items():
        put, place, (*way, last) = deepcopy(value), config, path.removeprefix("-").split(".")
        for step, following in pairwise((*way, last)):
            empty: Any = [] if following.isdigit() else {}
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, empty)
        if path.startswith("-"):
            del place[last]
        elif isinstance(place, list):
            place[int(last) :] = [put, *place[int(last) + 1 :]]
        else:
            place[last] = put
    named = {key if ":" in key else f"tidepool:{key}": value for key, value in config.items()}
    return json.dumps({"config": named}, indent=1, default=str)


def cases(kind: str) -> Iterator[Case]:
    for group in TABLE[kind]:
        base, at = TABLE["bases"][group["base"]], group.get("at", "")
        for row in group["edits"]:
            edits = {**row}
            stack, other = edits.pop("stack", "ci"), edits.pop("sibling", None)
            if at:
                edits = {f"{'-' * key.startswith('-')}{at}.{key.removeprefix('-')}": edits[key] for key in edits}
            beside = None if other is None else edited(TABLE["bases"]["vms"], BESIDE | other)
            yield Case(f"{group['base']} {at}: {json.dumps(row, default=str)}", edited(base, edits), stack, beside)


def test_the_words_of_every_refusal_are_those_that_were_read_last(update_goldens: bool) -> None:
    """All of them in one place, as people see them: where, what, why and what to write."""
    told = []
    for case in cases("refused"):
        siblings = () if case.sibling is None else (parse(case.sibling, stack="nightly"),)
        problems = refusals(case.text, stack=case.stack, siblings=siblings or None)
        with pytest.raises(ConfigError) as handed:
            stack_from_pulumi(pulumi_values(case.text), project="tidepool", stack=case.stack, siblings=siblings or None)
        assert {(each.value, each.fix) for each in handed.value.problems} == {
            (each.value, each.fix) for each in problems
        }
        assert all(each.rule and each.fix for each in problems), case.name
        told.append(f"{case.name}\n{indent(str(ConfigError(problems)), '  ')}\n")
    text = re.sub(r" at 20\d\d-\d\d-\d\d ", " at DAY ", "".join(told))
    assert not any(secret in line for line in text.splitlines() if line.startswith(" ") for secret in SECRETS)
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize("case", list(cases("accepted")), ids=lambda case: case.name[:60])
def test_what_is_just_right_is_accepted(case: Case) -> None:
    siblings = None if case.sibling is None else (parse(case.sibling, stack="nightly"),)
    assert parse(case.text, stack=case.stack, siblings=siblings or None)


@pytest.mark.parametrize(
    ("text", "subject", "fix"),
    [
        ("", "", "config:"),
        ("# only this\n", "", "config:"),
        ("config:\n", "", "config"),
        ("config: []\n", "", "config"),
        (HEAD + "  pools: []\n", " pools", "tidepool:pools"),
        (f"pools: []\n{HEAD}", " pools", "move it below config:, as tidepool:pools"),
        (f"tidepool:pools: []\n{HEAD}", f" {POOLS}", "move it below config:, as tidepool:pools"),
        (stack_text().replace("    us-west4-a: 2", "\tus-west4-a: 2"), ":9", "spaces"),
        (stack_text(pools=POOL + "  trust: fork\n"), ":12 tidepool:pools[0].trust", ""),
    ],
)
def test_a_file_whose_form_is_wrong_is_refused(text: str, subject: str, fix: str) -> None:
    assert any(each.subject.endswith(subject) and fix in f"{each.rule} {each.fix}" for each in refusals(text))


def test_mistakes_of_syntax_of_keys_and_of_values_are_said_in_the_same_go() -> None:
    text = "odd: 1\n" + stack_text(
        pools=POOL + "  trust: fork\n" + pool(accelerator="v9-9", zones="{us-west4-a: 017}"),
        secrets="[{name: s, readers: [pool/gone]}]\n",
    )
    text += "  tidepool:token: {secure: v1:abc}\n  tidepool:odd: 1\n  tidepool:pools: []\t# again\n"
    assert [problem.subject.removeprefix(f"{SOURCE}:") for problem in refusals(text)] == [
        "1 odd",
        f"{line_of(text, 'trust: fork')} {POOLS}[0].trust",
        f"{line_of(text, 'v9-9')} {POOLS}[1].accelerator",
        f"{line_of(text, '017')} {POOLS}[1].zones.us-west4-a",
        f"{line_of(text, 'token')} tidepool:token",
        f"{line_of(text, 'tidepool:odd')} tidepool:odd",
        f"{line_of(text, 'again')}",
        f"{line_of(text, 'again')} {POOLS}",
    ]


def test_a_stack_without_a_file_or_with_one_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.ci.yaml").write_bytes(b"# ci\nconfig: \xff\n")
    for stack, said in (("cj", r"no stack named cj\n  write: one of ci"), ("ci", r"(?s)ci.yaml:2: byte 0xff.*UTF-8")):
        with pytest.raises(ConfigError, match=said):
            load_stack(tmp_path, stack)


@given(st.text(max_size=60))
@example("\ufeffconfig: {}")
@example("config: {tidepool:pools: [{? a : b}]}")
@example("a: &a [*a]")
@example("config: {'': {}, ':': {}, 'tidepool:': {}, 'gcp:project': {}}")
@settings(deadline=None, max_examples=200)
def test_any_text_is_refused_with_a_problem_and_no_traceback(text: str) -> None:
    assert refusals(text)
