"""Status reads what it compares for each look, and hides no stack of which it does not know how it stands."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from bench.cloud.control import Control
from tests.cli.conftest import Checkout
from tests.engines.standing_world import STACK


@pytest.fixture(scope="module")
def fleet(clouded: Checkout) -> Checkout:
    """One stack without VMs, which is up."""
    for stack in ("ci", "nightly", "training"):
        clouded.path(stack).unlink()
    clouded.path("lone").write_text(STACK.format(count=0, accelerator="v5litepod-4"))
    clouded.ok("up", "lone")
    return clouded


def test_a_stack_of_which_nothing_can_be_learned_is_told(fleet: Checkout) -> None:
    control = Control(fleet.json("cloud", "status")["url"])
    control.fail("error", code=403, message="not yours", method="storage.objects.get")
    try:
        (found,) = fleet.json("status")["stacks"]
    finally:
        control.mend()
    assert (found["stack"], found["healthy"]) == ("lone", None)
    assert "not yours" in " ".join(found["problems"])


@pytest.mark.parametrize("named", [("lone",), ()])
def test_a_watch_reads_the_stack_files_for_each_look(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, named: tuple[str, ...]
) -> None:
    texts = iter([STACK.format(count=2, accelerator="v5litepod-4"), STACK.format(count=0, accelerator="v5litepod-4")])

    def edited(_: float) -> None:
        text = next(texts, None)
        if text is None:
            raise KeyboardInterrupt
        fleet.path("lone").write_text(text)

    monkeypatch.setattr("infra.cli.status.time", SimpleNamespace(sleep=edited))
    watched = fleet.run("status", *named, "--watch", "--json")
    assert watched.exit_code == 0
    looks = [json.loads(line)["stacks"] for line in watched.stdout.splitlines() if '"stacks"' in line]
    assert [any(any(each["unapplied"].values()) for each in stacks) for stacks in looks] == [False, True, False]
