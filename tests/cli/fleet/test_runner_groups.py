"""A stack whose runners are an organisation's, in groups: everything of it can be practised on the local cloud."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Checkout

LAB = """\
config:
  gcp:project: deep-lab-tpus
  gcp:addPulumiAttributionLabel: "false"
  tidepool:owner: deep-lab
  tidepool:bucket:
    name: deep-lab-tpus-tidepool
    location: us-central1
  tidepool:runners:
    groups:
      member: tpu-members
  tidepool:pools:
    - name: lab
      accelerator: v5litepod-4
      zones:
        us-west4-a: 2
      capacity: spot
      trust: member
      serves: [deep-lab/models, deep-lab/serving]
"""


@pytest.fixture(scope="module")
def lab(clouded: Checkout) -> Checkout:
    """The stack of a lab with an organisation, up."""
    clouded.path("lab").write_text(LAB)
    clouded.ok("up", "lab")
    clouded.ok("cloud", "clock", "--advance", "2m")
    return clouded


def test_a_job_that_no_pool_takes_is_told_beside_a_fleet_that_is_well(lab: Checkout) -> None:
    lab.ok("cloud", "job", "queue", "deep-lab/models", "lab", "gpu")
    lab.ok("cloud", "clock", "--advance", "2h")
    said = lab.ok("status", "lab").output
    assert "lab  all well, 1 job for no pool  on the local cloud at " in said
    assert "Jobs that no pool takes\n  deep-lab/models  Tests for lab, gpu: no pool has gpu (since " in said
    (status,) = lab.json("status", "lab")["stacks"]
    assert (status["healthy"], status["unserved"][0]["labels"]) == (True, ["lab", "gpu"])
