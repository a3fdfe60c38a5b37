"""Each rule finds what breaks it, and nothing in what keeps it; a finding has its place; no file stops the checker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workflows.linters import THEIRS
from tests.workflows.values import SCALARS
from workflows.checks import RULES, Fault, Known, Pool, TestCase, check
from workflows.checks.coverage import marked
from workflows.checks.shell import commands
from workflows.dump import CommentedData, dump
from workflows.read import WorkflowFile, read

FOLDER = Path(__file__).parent
TABLE = yaml.safe_load((FOLDER / "rules.yaml").read_text())
GOLDEN = FOLDER / "golden" / "faults.txt"
PAGE = FOLDER.parents[1] / "docs" / "workflow-rules.md"
COMMIT = "0123456789" * 4
POOLS = (
    Pool("tpu-ci", frozenset(("self-hosted", "tpu", "tpu-ci"))),
    Pool("forks", frozenset(("self-hosted", "cpu-forks")), forks=True),
)
KNOWN = {
    "": Known(repository="lab/mono", pools=POOLS),
    "dockerfiles": Known(
        repository="lab/mono",
        dockerfiles={"child/Dockerfile": ("ghcr.io/lab/parent:v1",), "parent/Dockerfile": ("debian:bookworm",)},
        bases=frozenset(("ghcr.io/other/base",)),
    ),
    "tests": Known(
        repository="lab/mono",
        tests=(TestCase("tests/test_a.py"), TestCase("tests/test_b.py", frozenset(("slow",)))),
    ),
}
BASE = {
    "name": "Checks",
    "on": {"push": {"branches": ["main"]}, "pull_request": {}},
    "permissions": {"contents": "read"},
    "concurrency": {
        "group": "checks-${{ github.event.pull_request.number || github.ref }}",
        "cancel-in-progress": "${{ github.event_name == 'pull_request' }}",
    },
}
JOB = {"runs-on": "ubuntu-24.04", "timeout-minutes": 15}
STEP = {"name": "Act"}
AROUND = frozenset(
    ("asks-first", "prepared-first", "history-is-there", "variable-is-set", "secret-for-forks", "rights-suffice")
)
"""Rules of what a whole file has around a step. Examples are excerpts, so that their own alone keep them."""
BEFORE = ".github/workflows/#-quiet.yaml"
"""A file without fault, and without whatever a rule looks for: it is judged first, and hides nothing of the others."""


def merged(base: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**base, **data}.items() if value is not None}


def job(data: Mapping[str, Any]) -> dict[str, Any]:
    steps = [merged(STEP, {"run": each} if isinstance(each, str) else each) for each in data.get("steps", ())]
    return merged(JOB, {**data, "steps": steps or None})


def whole(case: Any) -> dict[str, Any]:
    """A workflow without fault but for what the table says."""
    data = dict(case) if isinstance(case, dict) else {"steps": [case]}
    only = {**data.pop("job", {}), "steps": data.pop("steps", ["echo tested"])}
    jobs = data.pop("jobs", {"test": only})
    return {**merged(BASE, data), "jobs": {name: job(each) for name, each in jobs.items()}}


QUIET = dump(CommentedData(whole({"name": "Quiet", "on": {"workflow_dispatch": {}}})))


def texts(case: Any) -> dict[str, str]:
    """The files of a case by their paths, a line for each key."""
    workflows = [whole(each) for each in (case if isinstance(case, list) else [case])]
    return {
        f".github/workflows/{index}-{each['name']}.yaml": dump(CommentedData(each))
        for index, each in enumerate(workflows)
    }


def files(case: Any) -> tuple[WorkflowFile, ...]:
    return tuple(read(text, path) for path, text in texts(case).items())


def broken(case: Any, rule: str) -> list[Fault]:
    found = check((read(QUIET, BEFORE), *files(case)), KNOWN[TABLE[rule].get("known", "")])
    return [each for each in found if each.rule == rule or each.rule not in AROUND]


@pytest.mark.parametrize(
    ("rule", "kind", "case"),
    [
        pytest.param(rule, kind, case, id=f"{rule}-{kind}-{number}")
        for rule, kinds in TABLE.items()
        for kind in ("bad", "good")
        for number, case in enumerate(kinds[kind])
    ],
)
def test_a_rule_finds_what_breaks_it_and_nothing_in_what_keeps_it(rule: str, kind: str, case: Any) -> None:
    found = broken(case, rule)
    assert {each.rule for each in found} == ({rule} if kind == "bad" else set()), "\n".join(map(str, found))


def line_of(case: Any, fault: Fault) -> str:
    """The line of a file that a fault is told at."""
    return {BEFORE: QUIET, **texts(case)}[fault.file].splitlines()[fault.line - 1].strip().replace(COMMIT, "COMMIT")


def test_the_words_of_every_fault_are_those_that_were_read_last(update_goldens: bool) -> None:
    found = {
        f"{fault.rule} of job {fault.job or '-'} at `{line_of(case, fault)}`\n  {fault.reason}\n  {fault.fix}\n"
        for rule, kinds in TABLE.items()
        for case in kinds["bad"]
        for fault in broken(case, rule)
    }
    text = "".join(sorted(found))
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_every_rule_has_a_name_of_its_own_and_examples_of_both_kinds() -> None:
    assert sorted(rule.id for rule in RULES) == sorted(TABLE)
    assert all(kinds["bad"] and kinds["good"] for kinds in TABLE.values())


def test_the_page_has_every_rule_with_its_fix_and_every_rule_of_a_linter() -> None:
    """But for backslashes, of which a page needs more or fewer."""
    page = PAGE.read_text()
    lines = (line for line in page.splitlines() if line.startswith("| `"))
    rows = [re.split(r" (?<!\\)\| ", line.removeprefix("| ").removesuffix(" |")) for line in lines]
    told = {row[0].strip("`"): row[-1].replace("\\", "") for row in rows if len(row) == 5 and all(row)}
    assert told == {rule.id: rule.fix.replace("\\", "") for rule in RULES}
    assert set(re.findall(r"^\| [^|]+ \| `(\w+/[\w-]+)` \|", page, re.MULTILINE)) == THEIRS


# What a finding says, and what is not judged.


def test_a_fault_within_a_script_has_the_line_of_the_command_its_reason_and_its_fix() -> None:
    text = dump(CommentedData(whole("echo before\npython train.py \\\n  --steps 10\n  --rate 1\n")))
    (found,) = check([read(text, "checks.yaml")])
    assert text.splitlines()[found.line - 1].strip() == "--rate 1"
    assert str(found).splitlines() == [
        f"checks.yaml:{found.line} job test [line-continued]",
        "  --rate begins a command: the line before it does not end in a backslash",
        "  write: a backslash at the end of the line before, and nothing behind it",
    ]


FOLLOWING = {
    "on": {"workflow_run": {"workflows": ["Tests"]}},
    "job": {"if": "github.event.workflow_run.conclusion == 'success'"},
    "concurrency": {"group": "one", "cancel-in-progress": False},
}


@pytest.mark.parametrize(
    ("case", "without", "known", "said"),
    [
        (
            {"on": {"push": {}}, "job": {"runs-on": ["self-hosted", "nobody"]}},
            Known(),
            Known(pools=POOLS[:1]),
            "no runner has self-hosted, nobody; pools have tpu, tpu-ci",
        ),
        (
            FOLLOWING,
            Known(workflows=frozenset(("Tests",))),
            Known(),
            "no workflow is called Tests",
        ),
        (
            "pytest -m 'not slow' tests",
            Known(tests=KNOWN["tests"].tests, accepted_gaps=frozenset(("slow",))),
            KNOWN["tests"],
            "no job runs 1 test marked slow, such as tests/test_b.py",
        ),
    ],
    ids=["pools", "other workflows", "tests"],
)
def test_what_is_not_known_is_not_judged(case: Any, without: Known, known: Known, said: str) -> None:
    assert not check(files(case), without)
    (found,) = check(files(case), known)
    assert said in found.reason


@pytest.mark.parametrize(
    ("expression", "markers", "taken"),
    [
        ("", (), True),
        ("tpu_ci", ("tpu_ci",), True),
        ("not entry and not slow", ("slow",), False),
        ("not (entry or slow)", ("ray",), True),
        ("entry or ray", ("ray",), True),
        ("tpu_ci(", (), True),
    ],
)
def test_a_marker_expression_selects_as_pytest_does(expression: str, markers: tuple[str, ...], taken: bool) -> None:
    assert marked(expression, frozenset(markers)) is taken


# What stops no check.


@pytest.mark.parametrize(
    "text",
    [
        "on: 3\njobs: {a: {runs-on: x, needs: 3, strategy: 3, if: [1], steps: [3, {run: 3}, {uses: 3}]}}",
        "on: {schedule: 3, workflow_dispatch: {inputs: 3}, workflow_run: 3}\njobs: {a: {runs-on: [3, [4]]}}",
        "on: push\njobs: {a: {services: 3, strategy: {matrix: {a: 3}}, steps: [{run: 'x ${{'}, {if: '${{'}]}}",
        *(
            f"on: push\njobs: {{a: {{runs-on: x, steps: [{{run: {command}}}]}}}}"
            for command in ("trap", "timeout", "cd", "sed -i", "xargs", "uv run", "python -m", "docker login -u")
        ),
    ],
)
def test_a_file_that_is_half_written_is_judged_as_far_as_it_goes(text: str) -> None:
    check([read(text, "checks.yaml")])


PLAIN = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
KEYS = [
    "on", "push", "pull_request", "workflow_run", "workflow_dispatch", "schedule", "cron", "types", "branches",
    "workflows", "inputs", "jobs", "name", "env", "permissions", "concurrency", "group", "cancel-in-progress",
    "defaults", "run", "shell", "if", "needs", "runs-on", "labels", "strategy", "matrix", "include", "exclude",
    "fail-fast", "timeout-minutes", "container", "image", "outputs", "steps", "uses", "with", "id", "path", "key",
    "restore-keys", "ref", "tags",
]  # fmt: skip
ODD: st.SearchStrategy[Any] = st.recursive(
    SCALARS
    | st.sampled_from(
        ("always()", "${{ needs.a.outputs.b }}", "${{ matrix.name }}", "actions/cache@v4", "docker push a/b")
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)
"""Values of any kind under the keys that rules look at."""
PIECES = (*"ab -\\\n\"'`$(){}<>|&;#=!*[]", "case ", " in", "esac", "<<EOF", "${{", "}}", "$((", "bash -c ")
"""What scripts are made of, and what they go wrong with."""


@PLAIN
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_a_script_of_any_shape_is_read_to_its_end(script: str) -> None:
    assert all(0 <= each.line <= script.count("\n") for each in commands(script))


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        ("a \\\n  b\nc", ["a b", "c"]),
        ("x=1 a 'b c' \"d $e\"", ["a b c d $e"]),
        ("a && b || c; d | e &", ["a", "b", "c", "d", "e"]),
        ("if a; then\n  b\nelse\n  c\nfi", ["a", "b", "c"]),
        ("for x in -a -b; do\n  c\ndone", ["for x in -a -b", "c"]),
        ("case $x in\n  -h | --help) a ;;\n  *)\n    b\n    ;;\nesac\nc", ["a", "b", "c"]),
        ("cat <<-'END' >f\n\t--x\n\tEND\nb", ["cat", "b"]),
        ("a=(\n  --b\n  -c\n)\nd", ["", "d"]),
        ("a $(b -c | d) `e f`", ["b -c", "d", "e f", "a $(b -c | d) `e f`"]),
        ("f() {\n  a\n}\nf", ["a", "f"]),
        ("(a; b) >c", ["a", "b", ""]),
        ("[[ $a == -* && -n $b ]] && c", ["[[", "c"]),
        ("((a < 3)) && b", ["b"]),
        ("a ${{ matrix.b && 'c' }} d # e", ["a ${{ matrix.b && 'c' }} d"]),
        ('bash -c "a && b"', ["bash -c a && b", "a", "b"]),
        ("timeout --kill-after=5 -s TERM 890 sudo -u me env A=b c -d &", ["c -d"]),
        ("diff <(a) <(b)", ["a", "b", "diff"]),
    ],
)
def test_a_script_is_read_as_its_commands(script: str, lines: list[str]) -> None:
    assert [each.said for each in commands(script)] == lines
