"""The embedded engine's operations on one stack: preview, up, refresh, destroy, outputs, export.

Owns the course of an operation: lock, journal, settling, program, deletions, checkpoint. What each of them is lives in
its own module.
"""

from __future__ import annotations

import gc
import json
import platform
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench.engine import checkpoint, program, refresh
from bench.engine.backend import held
from bench.engine.deletion import Deletion
from bench.engine.deployment import Deployment
from bench.engine.existing import Existing
from bench.engine.journal import Journal
from bench.engine.monitor import Monitor
from bench.engine.refresh import settle
from bench.engine.registry import Providers
from bench.engine.replacement import Replacements
from bench.engine.run import EngineRun, Listener, Options, interruptible
from bench.engine.values import masked
from infra.model import protected, urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Plan, Step
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.backend import Backend, Held, StackFiles
    from bench.engine.provider import Provider
    from bench.engine.state import ResourceState

ENGINE = "local"


@dataclass(frozen=True, slots=True)
class _Parts:
    """The pieces of one operation, put together."""

    run: EngineRun
    registry: Providers
    replacements: Replacements
    deletion: Deletion
    monitor: Monitor


@dataclass(frozen=True, slots=True)
class Engine:
    """One stack of one project, its program and its providers.

    config: as a program sees it, namespaced keys to text (`tidepool:pools`, `gcp:project`).
    program: declares the resources when called; run once a preview and, unless `Options.previewed`, twice an update.
    providers: by package.
    passphrase: asked only when a secret is met or a state is made.
    cloud: the name by which plans call what the providers reach.
    """

    backend: Backend
    project: str
    stack: str
    config: Mapping[str, str]
    program: Callable[[], None]
    providers: Mapping[str, Provider]
    passphrase: Callable[[], str]
    cloud: str

    @property
    def _files(self) -> StackFiles:
        return self.backend.files(self.project, self.stack)

    # What a caller asks for

    def preview(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """What `up` would do; changes neither state nor cloud, and waits for no lock."""
        parts = self._parts(self._load(), options or Options(), listener, None)
        self._foresee(parts)
        return self._plan(parts.run)

    def up(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """Make the cloud as the program says. What a preview finds at fault is refused before anything is changed."""
        options = options or Options()
        with held(self._files) as lock:
            if not options.previewed:
                parts = self._parts(self._load(), options, None, None)
                self._foresee(parts)
                plan = self._plan(parts.run)
                if plan.failed:
                    return plan
            gc.collect(0)  # What the preview's program left is as much as this one will make.
            with self._working(options, listener, lock, "update") as parts:
                self._settle(parts)
                ended_well = self._execute(parts)
                self._check_targets(parts.run)
                if ended_well and not parts.run.stopping.is_set():
                    found = parts.deletion.to_delete()
                    if not parts.deletion.protected(found, protected.undeclared):
                        parts.deletion.execute(found)
        return self._plan(parts.run)

    def adopt(self, options: Options, listener: Listener | None = None) -> Plan:
        """Take over what `Options.standing` and `claims` name and the program declares; nothing else is changed.

        The components of a program that are not in the state yet are made with it, since one of them may be a parent.
        """
        options = replace(options, adopting=True)
        with held(self._files) as lock, self._working(options, listener, lock, "resource-import") as parts:
            self._settle(parts)
            if options.standing or options.claims or self._finds(options):
                self._execute(parts)
        plan = self._plan(parts.run)
        return replace(plan, steps=tuple(step for step in plan.steps if step.op in (Op.ADOPT, Op.CREATE) or step.error))

    def _finds(self, options: Options) -> bool:
        """Whether a look finds anything to adopt; nothing is written."""
        parts = self._parts(self._load(), options, None, None)
        self._settle(parts)
        self._execute(parts)
        return bool(parts.run.adopted) or self._plan(parts.run).failed

    def forget(self, steps: Iterable[Step], listener: Listener | None = None) -> Plan:
        """Let the state go of the resources of these steps; no cloud is asked."""
        with held(self._files) as lock, self._working(None, listener, lock, "import") as parts:
            gone = {step.urn for step in steps}
            parts.run.note(drop=tuple(state for state in parts.run.states.values() if state.urn in gone))
            for step in steps:
                parts.run.ended(step, 0.0)
        return self._plan(parts.run)

    def refresh(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """Take over what the cloud says of every resource in the state."""
        with held(self._files) as lock, self._working(options, listener, lock, "refresh") as parts:
            settle(parts.run, parts.registry, forgetting=True)
            refresh.refresh(parts.run, parts.registry)
        return self._plan(parts.run)

    def destroy(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """Delete everything in the state, or the targets; a protected resource keeps all of it."""
        with held(self._files) as lock, self._working(options, listener, lock, "destroy") as parts:
            found = self._to_destroy(parts)
            if not parts.deletion.protected(found, protected.kept):
                if parts.run.options.first is not None:
                    parts.run.options.first()
                parts.deletion.execute(found)
        return self._plan(parts.run)

    def preview_destroy(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """What `destroy` would do; changes neither state nor cloud, and waits for no lock."""
        parts = self._parts(self._load(), options or Options(), listener, None)
        found = self._to_destroy(parts)
        if not parts.deletion.protected(found, protected.kept):
            parts.deletion.plan(found)
        return self._plan(parts.run)

    def _to_destroy(self, parts: _Parts) -> list[ResourceState]:
        settle(parts.run, parts.registry)
        self._check_targets(parts.run)
        found = parts.deletion.to_delete()
        return parts.deletion.without_protected(found) if parts.run.options.exclude_protected else found

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs as last recorded, secrets masked; empty where there is no state."""
        return masked(self._root_outputs(self._load()))

    def export(self) -> dict[str, Any]:
        """The state as `pulumi stack export` shows it and `pulumi stack import` takes it."""
        document = json.loads(b"".join(checkpoint.render(self._files, self._load())))
        return {"version": document["version"], "deployment": document["checkpoint"]["latest"]}

    def ids(self, token: str) -> frozenset[str]:
        """Ids of the resources of a type that the state has whole: none that is replaced and not made again."""
        return frozenset(
            state.id
            for state in self._load().states.values()
            if state.type == token and not (state.pending_replacement or state.delete or state.external)
        )

    def urns(self) -> frozenset[str]:
        """Every URN that the state has."""
        return frozenset(state.urn for state in self._load().states.values())

    def creating(self, token: str) -> list[dict[str, Any]]:
        """The inputs of the resources of a type whose create was in flight when a run died, secrets in clear."""
        operations = self._load().operations
        return [reveal(state.inputs) for kind, state in operations if kind == "creating" and state.type == token]

    # How it goes

    def _load(self) -> checkpoint.Snapshot:
        return checkpoint.load(self._files, self.passphrase)

    def _parts(
        self, snapshot: checkpoint.Snapshot, options: Options, listener: Listener | None, journal: Journal | None
    ) -> _Parts:
        snapshot.check_passphrase()
        run = EngineRun(snapshot, options, listener, journal)
        for said in snapshot.said:
            run.say("warning", said)
        registry = Providers(run, self.providers, self.config, self.stack, self.project)
        replacements = Replacements(run, registry)
        existing = Existing(run, registry, self.backend, self.project, self.passphrase)
        deployment = Deployment(run, registry, replacements, existing)
        monitor = Monitor(run, deployment, existing, self.stack, self.project)
        return _Parts(run, registry, replacements, Deletion(run, registry, replacements), monitor)

    def _foresee(self, parts: _Parts) -> None:
        run = parts.run
        self._settle(parts)
        if self._execute(parts):
            self._check_targets(run)
            found = parts.deletion.to_delete()
            if not parts.deletion.protected(found, protected.undeclared):
                parts.deletion.plan(found)

    def _settle(self, parts: _Parts) -> None:
        settle(parts.run, parts.registry)
        if parts.run.options.refresh:
            refresh.refresh(parts.run, parts.registry, quiet=True)
        parts.run.remember_olds()

    def _execute(self, parts: _Parts) -> bool:
        return program.execute(
            self.program,
            parts.monitor,
            parts.run,
            project=self.project,
            stack=self.stack,
            config=self.config,
        )

    @staticmethod
    def _check_targets(run: EngineRun) -> None:
        unknown = run.targets.unmatched({*run.olds, *run.seen})
        if unknown:
            raise EngineError(
                "no such resource: " + ", ".join(unknown) + "; `preview --json` lists the URNs of all resources"
            )

    @contextmanager
    def _working(self, options: Options | None, listener: Listener | None, lock: Held, kind: str) -> Generator[_Parts]:
        """An operation that changes something: journal, Ctrl-C, and at the end the checkpoint."""
        started = time.time()
        snapshot = self._load()
        snapshot.check_passphrase()
        self._files.prepare()
        if snapshot.journals or not snapshot.digest:
            self._write(snapshot, None)
        journal = Journal(self._files.journals / f"{lock.name}.jsonl", snapshot.digest)
        parts = self._parts(snapshot, options or Options(), listener, journal)
        for holder in lock.taken_over:
            parts.run.say("warning", f"removed the lock of {holder}, a process that has ended")
        interrupted = False
        with interruptible(parts.run) as presses:
            try:
                yield parts
            finally:
                interrupted = bool(presses)
                parts.replacements.report_unfinished()
                self._finish(parts.run, journal, kind, started)
        if interrupted:
            raise KeyboardInterrupt

    def _finish(self, run: EngineRun, journal: Journal, kind: str, started: float) -> None:
        snapshot = run.snapshot
        snapshot.operations += run.open_operations()
        self._write(snapshot, journal)
        journal.close()
        journal.path.unlink()
        succeeded = not self._plan(run).failed and not run.stopping.is_set()
        history = {
            "kind": kind,
            "startTime": int(started),
            "message": "",
            "environment": {"exec.kind": "tidepool", "pulumi.arch": platform.machine(), "pulumi.os": "linux"},
            "config": {},
            "version": 0,
            "result": "succeeded" if succeeded else "failed",
            "endTime": int(time.time()),
            "resourceChanges": {op: count for op, count in self._plan(run).summary.items() if count},
        }
        self._files.record(time.time_ns(), json.dumps(history).encode())

    def _write(self, snapshot: checkpoint.Snapshot, journal: Journal | None) -> None:
        document = list(checkpoint.render(self._files, snapshot))
        snapshot.digest = checkpoint.digest(document)
        if journal is not None:
            journal.folding(snapshot.digest)
        self._files.write(document)
        for path in snapshot.journals:
            path.unlink(missing_ok=True)
        snapshot.journals = ()

    def _root_outputs(self, snapshot: checkpoint.Snapshot) -> dict[str, Any]:
        roots = [state for state in snapshot.states.values() if state.type == urns.STACK_TYPE]
        return roots[0].outputs if roots else {}

    def _plan(self, run: EngineRun) -> Plan:
        return run.plan(self.stack, ENGINE, self.cloud, masked(self._root_outputs(run.snapshot)))
