"""How long a boot takes in the guest, step by step. Which steps there are is the supervisor's."""

from __future__ import annotations

import random
from typing import Final

from infra.fleet.runner.supervisor.boot import STEPS

SECONDS: Final = dict(zip(STEPS, (10.0, 20.0, 25.0, 1.0, 90.0, 60.0, 1.0, 12.0, 1.0), strict=True))
"""By step, the realistic seconds of the first boot; a model, not a measurement."""

AGAIN: Final = 0.05
"""What a step takes where its work is done already, as a part of the first time."""

RESTARTS: Final = 15.0
"""Seconds until systemd starts again what ended: RestartSec of tidepool-supervisor.service."""

STUB_ASKS: Final = 60.0
"""Seconds until the stub looks again for a bundle; on a VM 15, which nobody outside can tell apart."""

BREAKS: Final = "steps/install-docker"
"""The step at which a boot fails with a bundle that a fault breaks."""

UNFIT: Final = "the TPU stays busy: /dev/vfio/0 did not open within 30 s"
"""What a guest says that a fault makes unfit, where the fault has no message."""


def seconds(life: str, *, first: bool) -> float:
    """Realistic seconds of a boot; the place within a fifth more or less belongs to the life."""
    # The spread of a model, not of a secret.
    spread = random.Random(f"boot {life}").uniform(0.8, 1.2)  # noqa: S311
    return sum(SECONDS.values()) * spread * (1.0 if first else AGAIN)


def slowest(life: str, hosts: int, *, first: bool) -> tuple[int, float]:
    """Of the hosts of a slice beside worker 0, the one whose boot takes longest, and how long."""
    return max(
        ((number, seconds(f"{life} host {number}", first=first)) for number in range(1, hosts)),
        key=lambda each: each[1],
        default=(0, 0.0),
    )


def share(step: str) -> float:
    """The part of a boot that a step takes, from 0 to 1."""
    return SECONDS[step] / sum(SECONDS.values())
