"""`why` of a run: a stack whose records do not answer is said, and hides no run of another."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from infra.fleet.google import GoogleError
from infra.operations.declared.known import Named
from infra.operations.errors import Failure
from infra.operations.fleet.subjects import Subject
from infra.operations.why import answer, find


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], find.Asked]:
    """A question about run 7 of two stacks, of which the first does not answer. found: what the other has."""

    def asking(found: Any) -> find.Asked:
        def find_run(run: str, config: Any, *_: object) -> Any:
            if config.stack == "ci":
                raise GoogleError("listing gs://ci", "denied", status=403)
            return found

        configs = [SimpleNamespace(stack="ci"), SimpleNamespace(stack="nightly")]
        monkeypatch.setattr(find, "readable_configs", lambda _: configs)
        monkeypatch.setattr(find, "find_run", find_run)
        return find.Asked(name="tpu-ci-run-7-1", kinds=(Named.RUN,))

    return asking


def test_a_run_that_is_not_found_says_whose_records_do_not_answer(asked: Callable[[Any], find.Asked]) -> None:
    with pytest.raises(Failure, match=r"no record of a run 7 .*; records of runs of ci: .*denied"):
        answer._run(Subject(Named.RUN, "7", ("ci", "nightly")), asked(None))
