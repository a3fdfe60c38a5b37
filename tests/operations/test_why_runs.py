"""`why` of a run: a stack whose records do not answer is said, and hides no run of another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from infra.fleet.google import GoogleError
from infra.operations.declared.known import Named
from infra.operations.errors import Failure
from infra.operations.fleet.subjects import Subject
from infra.operations.why import answer, find


def test_a_run_that_is_not_found_says_whose_records_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_run(run: str, config: Any, *_: object) -> None:
        if config.stack == "ci":
            raise GoogleError("listing gs://ci", "denied", status=403)

    configs = [SimpleNamespace(stack="ci"), SimpleNamespace(stack="nightly")]
    monkeypatch.setattr(find, "readable_configs", lambda _: configs)
    monkeypatch.setattr(find, "find_run", find_run)
    asked = find.Asked(name="tpu-ci-run-7-1", kinds=(Named.RUN,))
    with pytest.raises(Failure, match=r"no record of a run 7 .*; records of runs of ci: .*denied"):
        answer._run(Subject(Named.RUN, "7", ("ci", "nightly")), asked)
