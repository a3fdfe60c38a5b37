"""What an apply in phases needs of its command: engines for its passes, and a fleet that is held meanwhile.

Owns the two interfaces. The passes are `infra.engines.phased`.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Protocol

from infra.engines.protocol import Engine


class Maker(Protocol):
    """Makes an engine for one pass. targets: URNs that alone may change, empty for all that the command is about.

    excludes: URNs that stay as they are.
    """

    def __call__(
        self, *, targets: tuple[str, ...], continue_on_error: bool, excludes: tuple[str, ...] = ()
    ) -> Engine: ...


class HeldBackError(Exception):
    """VMs that were to go have to stay, though what is new is made; the text says why."""


class Hold(Protocol):
    """Keeps a fleet while passes change it."""

    def __call__(
        self,
        *,
        leaving: Collection[str],
        staying: Collection[str],
        begun: bool,
        returning: Collection[str] = (),
        makes_room: bool = False,
    ) -> AbstractContextManager[None]:
        """Entered before the passes that take VMs away, left after them.

        leaving: VMs that go, or are made again: they run nothing once it is entered. staying: VMs that stand on though
        the program declares them no more, or in another way. begun: whether anything was changed before; then it raises
        HeldBackError where `leaving` cannot go. returning: names of `leaving` that go at a fallback alone, since these
        passes have made them at home. makes_room: whether the passes can make others only in their place.
        """
        ...
