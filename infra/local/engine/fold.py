"""Folding for other programs: whoever reads the checkpoint without this engine needs its journals in it first."""

from __future__ import annotations

from collections.abc import Callable

from infra.local.engine import checkpoint
from infra.local.engine.backend import StackFiles
from infra.local.engine.lock import Holder, held


def fold(files: StackFiles, passphrase: Callable[[], str]) -> tuple[Holder, ...]:
    """Put the journals of runs that were cut off into the checkpoint, as operations in flight where they are.

    Returns whose dead locks were removed on the way. Does nothing where there is no journal. Raises EngineError where a
    living run holds the stack.
    """
    if not any(files.journals.glob("*.jsonl")):
        return ()
    with held(files) as mine:
        snapshot = checkpoint.load(files, passphrase)
        files.write(checkpoint.render(files, snapshot))
        for path in snapshot.journals:
            path.unlink(missing_ok=True)
        return mine.taken_over
