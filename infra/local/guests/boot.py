"""A boot in the guest: the steps of `infra/fleet/runner/start.sh`, and how long each takes."""

from __future__ import annotations

import random
from typing import Any, Final

from infra.local.cloud.clock import timestamp

STEPS: Final = {
    "hold-upgrades": 10.0,
    "install-packages": 20.0,
    "install-docker": 25.0,
    "build-walls": 1.0,
    "pull-image": 90.0,
    "warm-cache": 60.0,
    "allow-reset": 1.0,
    "install-runner": 12.0,
    "start-supervisor": 1.0,
}
"""By name in their order, the realistic seconds of the first boot; a model, not a measurement."""

AGAIN: Final = 0.05
"""What a step takes where its work is done already, as a part of the first time."""

HALTED: Final = "step install-docker: a command of it failed, see the log"
"""What a guest says of a bundle that a fault breaks, where the fault has no message."""

UNFIT: Final = "the TPU stays busy: /dev/vfio/0 did not open within 30 s"
"""The same of a VM that a fault makes unfit."""

BROKEN: Final = "runners end at once without a job, 5 in a row, the last with status 1"
"""The same of an image that a fault breaks."""


def seconds(life: str, *, first: bool) -> float:
    """Realistic seconds of a boot; the place within a fifth more or less belongs to the life."""
    # The spread of a model, not of a secret.
    spread = random.Random(f"boot {life}").uniform(0.8, 1.2)  # noqa: S311
    return sum(STEPS.values()) * spread * (1.0 if first else AGAIN)


def slowest(life: str, hosts: int, *, first: bool) -> tuple[int, float]:
    """Of the hosts of a slice beside worker 0, the one whose boot takes longest, and how long."""
    return max(
        ((number, seconds(f"{life} host {number}", first=first)) for number in range(1, hosts)),
        key=lambda each: each[1],
        default=(0, 0.0),
    )


def story(began: float, ended: float) -> list[dict[str, Any]]:
    """The steps of a boot between two moments of cloud time, as a report has them."""
    whole, at, told = sum(STEPS.values()), began, []
    for step, share in STEPS.items():
        after = at + (ended - began) * share / whole
        told.append({"step": step, "began": moment(at), "ended": moment(after), "outcome": "done"})
        at = after
    return told


def moment(seconds_: float) -> str:
    """A time as the shell files write it: `2026-11-21T08:00:00Z`."""
    return f"{timestamp(seconds_)[:19]}Z"
