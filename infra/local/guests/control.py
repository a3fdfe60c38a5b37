"""The control surface with the calls of guests: nodes with their disks, and the faults that strike guests."""

from __future__ import annotations

from collections.abc import Mapping

from infra.local.cloud.control import JsonObject
from infra.local.cloud.github.control import GitHubControl


class GuestControl(GitHubControl):
    def guests(self) -> JsonObject:
        """seconds, compression, queued, faults, nodes (node, since, due) and disks; see `tpu_control.told`."""
        return self._ask("GET", "guests")

    def write_disks(self, disks: Mapping[str, JsonObject | None]) -> None:
        """Replace the disks of nodes by full name; None takes one away."""
        self._ask("POST", "guests", {"disks": dict(disks)})

    def strike_guest(self, node: str, kind: str, running: str = "") -> JsonObject | None:
        """The fault of that kind (mute, slow-boot, unfit, broken) that strikes a guest now; it counts as used.

        running: the image or bundle that the guest is about to run.
        """
        return self._ask("POST", "guest-faults", {"node": node, "kind": kind, "running": running})["fault"]
