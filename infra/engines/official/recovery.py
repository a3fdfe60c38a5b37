"""What a state lacks of the cloud, settled before the CLI plans from it.

The CLI itself stops at a dead process's lock and then fails with 409 for each resource that exists and that its state
lacks, for ever (seen with 3.259 and 3.260, 2026-11). Owns reading whose lock it is, and the order: through it, adopt
what exists, forget what does not, read again what was half-way. Does not own what that is (`adoption`).
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pulumi import automation

from infra.engines.official import adoption
from infra.engines.official.workspace import Workspace
from infra.engines.standing import Say, StandingVm
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic
from infra.tools.processes import LockHolder

T = TypeVar("T")
_LOCK = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)")


def locks_in(message: str) -> tuple[LockHolder, ...]:
    """The locks that the CLI lists where it says that a stack is locked."""
    return tuple(
        LockHolder(user=found["user"], host=found["host"], pid=int(found["pid"]), since=found["since"])
        for found in _LOCK.finditer(message)
    )


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

    def settle(
        self,
        exported: Mapping[str, Any],
        standing: Sequence[StandingVm] = (),
        foreign: Collection[str] = (),
        claimed: Sequence[adoption.Claim] = (),
    ) -> frozenset[str]:
        """Bring an exported state to what the cloud has of it; the URNs that were adopted.

        standing: VMs that stand and that the state lacks. foreign: ids of VMs that stand and are another's. Creates in
        flight, and what is claimed, are adopted where the cloud has them and forgotten where not; other operations in
        flight are looked at anew. Does nothing where there is none of it.
        """
        found = adoption.unsettled(self._stack, exported["deployment"], standing, foreign, claimed)
        if not found:
            return frozenset()
        vms, asked = {each.id for each in standing}, {each.step.urn for each in claimed}
        flying = [each for each in found.creates if each.import_id not in vms and each.urn not in asked]
        if flying:
            names = ", ".join(each.name for each in flying)
            self._tell(f"an earlier run was killed with creates in flight: {names}; looking each up on the cloud")
        wanted = [each for each in found.creates if each.import_id]
        absent = self._adopt(wanted)
        taken = [each for each in wanted if each not in absent]
        rest = adoption.completed(adoption.at_rest(self._export(), found.again), taken)
        self.through_locks(lambda: self._workspace.load(self._stack, rest))
        if found.again:
            self._read_again(found.again)
        present = self._present()
        taken_names = sorted({each.name for each in taken} | {urns.name_of(urn) for urn in found.again & present})
        if taken_names:
            self._tell(f"adopted, since they exist in the cloud: {', '.join(taken_names)}")
        if again := [each.name for each in absent if each.urn not in asked]:
            self._tell(f"to be created again, since they do not exist in the cloud: {', '.join(again)}")
        return frozenset(each.urn for each in taken) | (found.again & present)

    def _break(self, error: automation.ConcurrentUpdateError) -> None:
        held = locks_in(str(error))
        if not held or not all(lock.dead for lock in held):
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
            present = self._present()
            left = [each for each in wanted if each not in gone and each.urn not in present]
            if len(left) == len(wanted):
                names = ", ".join(each.name for each in left)
                raise EngineError(f"{names} exist in the cloud and could not be adopted:\n{said.strip()}")
            absent.extend(gone)
            wanted = left
        return absent

    def _import(self, wanted: list[adoption.Pending]) -> str:
        """What the CLI said of an import, whether it failed or not."""
        content = json.dumps(adoption.import_file(wanted, self._present()))
        options = ("--yes", "--skip-preview", "--protect=false", "--generate-code=false", "--color", "never")
        with _passing_file(content) as path:
            arguments = ("import", "--file", path, *options, "--stack", self._stack)
            try:
                return self.through_locks(lambda: self._workspace.ask(*arguments))
            except automation.CommandError as error:
                return str(error)

    def _read_again(self, urns: Collection[str]) -> None:
        """Take over what the cloud has of these resources; those that it has not leave the state."""
        targets = [word for urn in sorted(urns) for word in ("--target", urn)]
        options = ("--yes", "--skip-preview", "--color", "never", "--stack", self._stack)
        try:
            self.through_locks(lambda: self._workspace.ask("refresh", *targets, *options))
        except automation.CommandError as error:
            raise EngineError(
                f"operations that an earlier run left in flight could not be looked up:\n{error}"
            ) from None

    def _present(self) -> frozenset[str]:
        return adoption.recorded(self._export()["deployment"]).urns

    def _export(self) -> dict[str, Any]:
        return self._workspace.exported(self._stack)

    def _tell(self, message: str) -> None:
        self._say(Diagnostic(severity="warning", message=message))


def _who(error: automation.ConcurrentUpdateError) -> str:
    """Everyone who may be alive and hold the stack, or what the CLI said where it names nobody."""
    living = [lock for lock in locks_in(str(error)) if not lock.dead]
    return ", ".join(map(str, living)) or str(error).strip()


@contextmanager
def _passing_file(content: str) -> Generator[str]:
    """The path of a file for the CLI to read, gone afterwards. What goes in holds secrets as ciphertext only."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(content)
        file.flush()
        yield file.name
