"""A swap inside a full reservation through the command line: shown before it is asked about, and done in one `up`.

The tests of this module run in order on one fleet.
"""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Checkout

STACK = """\
config:
  gcp:project: my-lab
  tidepool:owner: lab
  tidepool:bucket: {name: my-lab-swap, location: us}
  tidepool:reservations:
    - {name: lab, project: my-lab, zone: us-central1-a, generation: v5p, chips: 16}
  tidepool:pools:
    - name: old
      accelerator: v5p-8
      zones: {us-central1-a: 4}
      capacity: {reserved: lab}
      trust: member
    - name: new
      accelerator: v5p-8
      zones: {us-central1-a: 0}
      capacity: {reserved: lab}
      trust: member
"""
SWAPPED = STACK.replace("us-central1-a: 4}", "us-central1-a: 2}").replace("us-central1-a: 0}", "us-central1-a: 2}")
WHY = "us-central1-a v5p reservation lab: 16 -> 16 of 16 chips, and a single pass could hold 24 before it deletes"
LIMIT = ("us-central1-a", "v5p", "16", "--capacity", "reserved")
FIRST = ["old-us-central1-a-2", "old-us-central1-a-3"]


@pytest.fixture(scope="module")
def full(clouded: Checkout) -> Checkout:
    """A stack whose VMs have the whole reservation, and a cloud that keeps to it."""
    clouded.ok("cloud", "limit", "--project", "my-lab", *LIMIT)
    clouded.path("swap").write_text(STACK)
    clouded.ok("up", "swap")
    clouded.path("swap").write_text(SWAPPED)
    return clouded


def test_the_phases_are_in_the_json_of_a_preview(full: Checkout) -> None:
    document = full.json("preview", "swap")
    assert document["phases"] == {
        "needed": True,
        "order": [
            {"work": "shrink", "deleted": FIRST, "replaced": [], "created": [], "resized": []},
            {
                "work": "grow",
                "deleted": [],
                "replaced": [],
                "created": ["new-us-central1-a-0", "new-us-central1-a-1"],
                "resized": [],
            },
        ],
        "reasons": [
            {
                "limit": "us-central1-a v5p reservation lab",
                "chips": 16,
                "before": 16,
                "after": 16,
                "peak": 24,
                "why": WHY,
            }
        ],
        "exceeded": [],
        "held": [],
    }


def test_one_up_runs_both(full: Checkout) -> None:
    result = full.ok("up", "swap")
    said = result.stdout
    assert said.index("phase 1 of 2, shrink: deleting 2 VMs (old-us-central1-a-{2..3})") < said.index("phase 2 of 2")
    assert said.index("- deleted old-us-central1-a-3 ") < said.index("+ created 2 tpu.V2Vm: new-us-central1-a-{0..1} ")
    assert "\nphase 1 of 2, shrink: " in said, "what the phase came to"
    assert (
        said.index("phase 2 of 2")
        < said.index("~ updated manifests/swap.json ")
        < said.index("+ created 2 tpu.V2Vm: new-us-central1")
    )
    assert re.search(r"^swap: 2 created, \d updated, 2 deleted, ", said, re.MULTILINE)
    assert not [entry for entry in full.json("cloud", "log")["entries"] if entry["status"] == 429]
