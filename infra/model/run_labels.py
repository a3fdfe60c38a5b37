"""The labels of a TPU VM that is made for one run and deleted after it; and of the runners that GitHub runs itself.

Owns their names and what they say. What makes such a VM sets them, and what finds one that outlived its time, because
the machine that should have deleted it is gone, reads them. Label values are lower-case letters, digits, `-` and `_`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

HOSTED: Final = frozenset(
    (
        "ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04", "ubuntu-24.04-arm", "ubuntu-22.04-arm", "ubuntu-slim",
        "windows-latest", "windows-2025", "windows-2022", "windows-11-arm",
        "macos-latest", "macos-26", "macos-15", "macos-14", "macos-15-intel", "macos-26-intel",
    )
)  # fmt: skip
"""Standard runners: https://docs.github.com/en/actions/reference/runners/github-hosted-runners (read 2026-11-21)."""


RUN: Final = "tidepool-run"
"""Which run the VM is for: GitHub's number of it, the same for every attempt."""
EXPIRES: Final = "tidepool-expires"
"""When it may be deleted by anybody, in UNIX seconds."""

_RUN = re.compile(r"[a-z0-9_-]{1,63}")
_EXPIRES = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class RunVm:
    """What the labels of a VM for a run say. expires: UNIX seconds."""

    run: str
    expires: int

    def labels(self) -> dict[str, str]:
        """As labels; ValueError where they could not be written."""
        labels = {RUN: self.run, EXPIRES: str(self.expires)}
        if read(labels) != self:
            raise ValueError(
                f"{self.run!r}, {self.expires}: a run is 1 to 63 of a-z, 0-9, - and _, and a time is positive"
            )
        return labels

    def has_expired(self, now: int) -> bool:
        """Whether its time is over at `now`, in UNIX seconds."""
        return now >= self.expires


def read(labels: Mapping[str, str]) -> RunVm | None:
    """What the labels say, None where they are not both there and right: such a VM is nobody's to delete."""
    run, expires = labels.get(RUN, ""), labels.get(EXPIRES, "")
    if not _RUN.fullmatch(run) or not _EXPIRES.fullmatch(expires):
        return None
    return RunVm(run=run, expires=int(expires))
