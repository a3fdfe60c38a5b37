"""What Google's own provider refuses of a plan, or drops before it reaches an API, held against every program here.

The embedded provider takes some of it. Read in the sources of the provider, 2026-11-22:
https://github.com/hashicorp/terraform-provider-google, google/services.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.program.fake_engine import Built
from tests.program.stacks import STACKS, unedited
from tests.program.test_builds_plan import joined
from tests.program.test_serving import served

SENT_EMPTY = frozenset({("gcp:secretmanager/secret:Secret", "replication.auto")})
"""Blocks that are said by being there: the provider sends them empty."""
PROGRAMS = pytest.mark.parametrize(
    "program",
    [*(pytest.param(lambda stack=stack: unedited(stack), id=stack) for stack in STACKS)]
    + [pytest.param(each, id=each.__name__) for each in (served, joined)],
)


def is_unset(value: Any) -> bool:
    """The provider takes a block for one that is not there where none of its fields is set."""
    return value in (None, "", [], {})


def dropped(value: Any, path: str = "") -> Iterator[str]:
    """Blocks and lists that are written and reach no API."""
    if isinstance(value, dict):
        if path and all(is_unset(each) for each in value.values()):
            yield path
        for key, each in value.items():
            yield from dropped(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for each in value or (None,):
            yield from (path,) if each is None else dropped(each, path)


@PROGRAMS
def test_nothing_is_declared_that_the_provider_drops(program) -> None:
    found = {(each.type, path) for each in program().custom for path in dropped(each.inputs)}
    enclosing = {(kind, path.rpartition(".")[0]) for kind, path in SENT_EMPTY}
    assert found <= SENT_EMPTY | enclosing


def seconds(duration: str | None) -> int:
    return int(duration.removesuffix("s")) if duration else 0


@PROGRAMS
def test_the_limits_of_a_triggers_steps_add_up_to_no_more_than_its_builds(program) -> None:
    built: Built = program()
    for trigger in built.of("Trigger"):
        build = trigger.inputs["build"]
        together = sum(seconds(step.get("timeout")) for step in build["steps"])
        assert 0 < together <= seconds(build["timeout"]), trigger.name
