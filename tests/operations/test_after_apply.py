"""What `up` does about images after an apply: nothing of it can make the apply look as if it had not happened."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from infra.model.errors import ConfigError, Problem
from infra.model.plan import Plan
from infra.model.stack import load_stack
from infra.operations.images import after_apply
from tests.synthetic_lab import the_lab

NOW = datetime(2026, 11, 24, tzinfo=UTC)
RUN = Plan(stack="ci", engine="local", cloud="local", steps=())
MISTAKE = Problem("images/images.yaml:3", "tpu-cj", "no such image", "one of tpu-ci")


def test_a_mistake_in_images_is_a_problem_after_the_apply_and_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def broken() -> None:
        read.append("images.yaml")
        raise ConfigError([MISTAKE])

    monkeypatch.setattr(after_apply, "declared", broken)
    monkeypatch.setattr(after_apply, "_keeps_for_roles", lambda _: True)
    found = after_apply.after_apply(load_stack(the_lab(), "ci"), RUN, None, NOW)
    kept, builds = found.problems
    assert (found.started, read) == ((), ["images.yaml"])
    assert kept.startswith("images of the broker and the controller are not safe from clean-up: ")
    assert builds.startswith("cannot tell which builds to start: ")
    for each in found.problems:
        assert "images/images.yaml:3" in each
        assert "Next: `./tidepool up ci`" in each
