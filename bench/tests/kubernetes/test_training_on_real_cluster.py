"""`./tidepool up training --kube` of the synthetic lab, with every key that renders objects, on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tests.kubernetes.training_plane import everything_is_taken, training_plane
from tests.synthetic_lab import steady

pytestmark = pytest.mark.live

QUEUES = """
  tidepool:queues:
    preemption: lower-priority
    borrowing: true
    reclaim: any
    fair_sharing: true
    priorities: {low: 100, high: 1000}
    teams:
      - {name: pretraining, weight: 3, members: ["group:research@my-lab.org", "user:ada@my-lab.org"]}
      - {name: rl, accelerators: [v4-8]}
"""
IMAGE = f"us-central2-docker.pkg.dev/my-lab/images/work@sha256:{'0' * 64}"
WORK = f"""
  tidepool:batch:
    - name: transform
      team: pretraining
      pool: batch
      image: {IMAGE}
      memory: 4GB
      cpus: 1
      tasks: 8
      minimum: 1
      maximum: 3
      priority: low
  tidepool:groups:
    - name: math
      team: pretraining
      image: {IMAGE}
      priority: high
      train: {{accelerator: v4-32, command: [python, -m, lab.learn]}}
      rollout: {{accelerator: v4-8, slices: 3, command: [python, -m, lab.act]}}
      curriculum: {{pool: batch, command: [python, -m, lab.lessons]}}
      checkpoints: {{bucket: somebody-elses}}
"""


def whole() -> str:
    """The synthetic training stack with slices of several hosts, two kinds of capacity, queues, and what uses them."""
    slices = """
    - {accelerator: v4-32, zone: us-central2-b, capacity: spot, buffer: 2, maximum: 3}
    - {accelerator: v4-32, zone: us-central2-b, capacity: on-demand, number: 1}
"""
    before, key, after = steady("training").partition("      buffer: 0\n      maximum: 4\n")
    assert key
    return f"{before}{key}{slices.lstrip(chr(10))}{QUEUES}{WORK}{after}"


def test_everything_that_training_renders_is_taken_by_strict_validation(tmp_path: Path) -> None:
    with training_plane(tmp_path, whole()) as plane:
        everything_is_taken(plane)
