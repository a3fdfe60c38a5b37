"""Whatever stands in a stack file, people get problems and never a traceback."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from infra.model import fleet
from infra.model.errors import ConfigError, Problem
from infra.model.manifest import manifest
from infra.model.schema import StackConfig
from tests.model.given import parse
from tests.synthetic_lab import the_lab

CI = (the_lab() / "stacks" / "Pulumi.ci.yaml").read_text().partition("\nconfig:")
LINES = ("config:" + CI[2]).splitlines()

edits = st.lists(
    st.tuples(
        st.integers(0, len(LINES) - 1),
        st.sampled_from(["drop", "double", "indent", "dedent", "empty", "list", "text", "number"]),
    ),
    min_size=1,
    max_size=4,
)


def edited(line: str, how: str) -> list[str]:
    key = line.partition(":")[0]
    return {
        "drop": [],
        "double": [line, line],
        "indent": ["  " + line],
        "dedent": [line.removeprefix("  ")],
        "empty": [f"{key}:"],
        "list": [f"{key}: [a, {{b: null}}, [1]]"],
        "text": [f"{key}: '*'"],
        "number": [f"{key}: -1.5"],
    }[how]


@given(edits)
@settings(deadline=None, max_examples=250)
def test_any_edit_of_a_real_file_is_accepted_or_refused(changes: list[tuple[int, str]]) -> None:
    by_line = dict(changes)
    text = "\n".join(
        after
        for number, line in enumerate(LINES)
        for after in (edited(line, by_line[number]) if number in by_line else [line])
    )
    config, problems = outcome(text)
    if config is None:
        assert problems
        assert all(problem.subject.startswith("stacks/Pulumi.ci.yaml") and problem.rule for problem in problems)
    else:
        assert len(manifest(config, bundle="ab" * 32, startup_script="")["slots"]) == len(fleet.slots(config))


def outcome(text: str) -> tuple[StackConfig | None, tuple[Problem, ...]]:
    try:
        return parse(text), ()
    except ConfigError as error:
        return None, error.problems


@given(st.text(max_size=60))
@example("\ufeffconfig: {}")
@example("config: {tidepool:pools: [{? a : b}]}")
@example("a: &a [*a]")
@example("config: {'': {}, ':': {}, 'tidepool:': {}, 'gcp:project': {}}")
@settings(deadline=None, max_examples=200)
def test_any_text_is_accepted_or_refused(text: str) -> None:
    config, problems = outcome(text)
    assert (config is None) == bool(problems)
