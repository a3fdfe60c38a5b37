"""What of a stack file, or of another one, keeps a program from declaring anything."""

from __future__ import annotations

from pathlib import Path

import pulumi
import pytest

from infra.model.stack_text import pulumi_values
from infra.program.stack import run
from tests.program.fake_engine import build
from tests.program.stacks import built, edited, text_of


def test_every_mistake_of_a_file_is_said_at_once_and_nothing_is_declared() -> None:
    text = edited("ci", ("us-west4-a: 2", "us-west9-z: 2"), ("accelerator: v5p-8", "accelerator: v5p-9"))
    with pytest.raises(pulumi.RunError) as raised:
        built("ci", text)
    assert "us-west9-z" in str(raised.value)
    assert "v5p-9" in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__, "a person who mistyped a zone is shown no traceback"


def test_the_other_stacks_are_those_of_the_checkout_that_is_run(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    taken = text_of("nightly").replace("nightly-v6e", "tpu-ci").replace("us-central1-b: 0", "us-central1-b: 1")
    (tmp_path / "stacks" / "Pulumi.nightly.yaml").write_text(taken)
    with pytest.raises(pulumi.RunError, match="nightly"):
        build(lambda: run(tmp_path), stack="ci", config=pulumi_values(text_of("ci")))
