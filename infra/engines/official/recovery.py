"""What a killed run of the CLI left behind, settled before the next one.

The CLI itself stops at the dead process's lock and then fails with 409 for each create that was in flight, for ever
(seen with 3.259 and 3.260, 2026-11). Owns the order: through the lock, adopt what exists, forget what does not.
Does not own what an in-flight create is (`adoption`) nor whose lock it is (`locks`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from pulumi import automation

from infra.engines.official import adoption, locks
from infra.engines.official.workspace import Workspace
from infra.engines.protocol import EngineError
from infra.model.plan import Diagnostic

T = TypeVar("T")
Say = Callable[[Diagnostic], None]


class Recovery:
    """Settles one stack. `say` gets what was found and done, as diagnostics for people."""

    def __init__(self, workspace: Workspace, stack: str, say: Say) -> None:
        self._workspace = workspace
        self._stack = stack
        self._say = say

    def through_locks(self, operation: Callable[[], T]) -> T:
        """Run an operation of the CLI; where locks of dead processes of this host stop it, remove them and go on.

        Raises EngineError where any lock may be a living process's: that one is never broken.
        """
        try:
            return operation()
        except automation.ConcurrentUpdateError as error:
            self._break(error)
        try:
            return operation()
        except automation.ConcurrentUpdateError as error:
            raise EngineError(f"stack {self._stack} was locked again at once: {_who(error)}; try again later") from None

    def settle(self) -> None:
        """Adopt the creates in flight that the cloud has, and forget the others. Does nothing where there are none."""
        exported = self._export()
        if not adoption.has_pending(exported["deployment"]):
            return
        wanted = adoption.pending_creates(exported["deployment"])
        names = ", ".join(each.name for each in wanted)
        if wanted:
            self._tell(f"an earlier run was killed with creates in flight: {names}; looking each up on the cloud")
        absent = self._adopt([each for each in wanted if each.import_id])
        adopted = [each.name for each in wanted if each.import_id and each not in absent]
        self._forget()
        if adopted:
            self._tell(f"adopted what the earlier run had made: {', '.join(adopted)}")
        if absent:
            self._tell(f"will be made again, since the cloud does not have them: {', '.join(e.name for e in absent)}")

    def _break(self, error: automation.ConcurrentUpdateError) -> None:
        held = locks.locks_in(str(error))
        if not held or not all(locks.is_dead(lock) for lock in held):
            raise EngineError(
                f"stack {self._stack} is locked by {_who(error)}; wait for it to end, or, if that process is gone, "
                f"run `pulumi cancel --stack {self._stack}`"
            )
        for lock in held:
            self._tell(f"removing the lock of a run that was killed: {lock}")
        self._workspace.ask("cancel", "--yes", "--stack", self._stack)

    def _adopt(self, wanted: list[adoption.Pending]) -> list[adoption.Pending]:
        """Import everything in `wanted` that exists; returns what does not.

        One import adopts what it can and fails at the first resource that is missing, so it is repeated with what is
        left until nothing is.
        """
        absent: list[adoption.Pending] = []
        while wanted:
            said = self._import(wanted)
            gone = adoption.missing(wanted, said)
            present = {resource["urn"] for resource in self._export()["deployment"]["resources"]}
            left = [each for each in wanted if each not in gone and each.urn not in present]
            if len(left) == len(wanted):
                raise EngineError(f"resources that an earlier run had in flight could not be adopted:\n{said.strip()}")
            absent.extend(gone)
            wanted = left
        return absent

    def _import(self, wanted: list[adoption.Pending]) -> str:
        """What the CLI said of an import, whether it failed or not."""
        content = json.dumps(adoption.import_file(wanted))
        options = ("--yes", "--skip-preview", "--protect=false", "--generate-code=false", "--color", "never")
        with _passing_file(content) as path:
            arguments = ("import", "--file", path, *options, "--stack", self._stack)
            try:
                return self.through_locks(lambda: self._workspace.ask(*arguments))
            except automation.CommandError as error:
                return str(error)

    def _forget(self) -> None:
        content = json.dumps(adoption.without_pending(self._export()))
        with _passing_file(content) as path:
            self.through_locks(lambda: self._workspace.ask("stack", "import", "--file", path, "--stack", self._stack))

    def _export(self) -> dict[str, Any]:
        return self._workspace.exported(self._stack)

    def _tell(self, message: str) -> None:
        self._say(Diagnostic(severity="warning", message=message))


def _who(error: automation.ConcurrentUpdateError) -> str:
    """Everyone who may be alive and hold the stack, or what the CLI said where it names nobody."""
    living = [lock for lock in locks.locks_in(str(error)) if not locks.is_dead(lock)]
    return ", ".join(map(str, living)) or str(error).strip()


@contextmanager
def _passing_file(content: str) -> Generator[str]:
    """The path of a file for the CLI to read, gone afterwards. What goes in holds secrets as ciphertext only."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(content)
        file.flush()
        yield file.name
