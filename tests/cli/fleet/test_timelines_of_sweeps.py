"""What `reconcile` and `why` tell of VMs that go and come: what is begun, what is over, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Checkout

POOL, ZONE = "tpu-ci", "us-west4-a"
VM = f"{POOL}-{ZONE}-0"


@pytest.fixture(scope="module")
def standing(upped: Checkout) -> Checkout:
    """The ci stack, made and swept, every runner online."""
    upped.ok("reconcile", "ci")
    upped.ok("cloud", "clock", "--advance", "2m")
    return upped


def told(fleet: Checkout) -> tuple[list[str], dict[str, Any]]:
    timeline = fleet.json("why", VM)
    return [line["what"] for line in timeline["story"]], timeline


def test_what_a_lost_vm_said_last_is_no_news_of_it(standing: Checkout) -> None:
    assert any(line.startswith("it says idle (at ") for line in told(standing)[1]["now"])
    standing.ok("cloud", "preempt", VM)
    now = told(standing)[1]["now"]
    assert not [line for line in now if line.startswith("it says")]
    (last,) = [line for line in now if line.startswith("it last said idle (at ")]
    assert last.endswith("; it is PREEMPTED now")


def test_a_create_that_google_has_taken_is_begun_and_told_to_have_failed_once_it_has(standing: Checkout) -> None:
    """It goes on from the test above: the VM is preempted."""
    standing.ok("cloud", "fail", "stockout", "--zone", ZONE)
    begun = standing.run("reconcile", "ci").stdout
    assert "1 recreate begun" in begun
    assert f"recreate {VM}: " in begun
    assert "; begun, and not made yet" in begun
    standing.ok("cloud", "clock", "--advance", "2m")
    standing.run("reconcile", "ci")
    assert any(f"could not be made in {ZONE}: stockout" in line for line in told(standing)[0])
    standing.ok("cloud", "fail", "--mend-all")
