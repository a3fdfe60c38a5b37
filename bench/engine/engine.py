"""The embedded engine's operations on one stack: preview, up, refresh, destroy, outputs, export.

Owns the course of an operation: lock, journal, settling, program, deletions, checkpoint. What each of them is lives in
its own module.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
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
from infra.model import protected
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
        parts = self._parts(options, listener)
        self._run_program(parts, parts.deletion.plan)
        return self._plan(parts.run)

    def up(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """Make the cloud as the program says. What a preview finds at fault is refused before anything is changed."""
        options = options or Options()
        with held(self._files) as lock:
            if not options.previewed:
                plan = self.preview(options)
                if plan.failed:
                    return plan
            gc.collect(0)  # What the preview's program left is as much as this one will make.
            with self._working(options, listener, lock) as parts:
                self._run_program(parts, parts.deletion.execute)
        return self._plan(parts.run)

    def adopt(self, options: Options, listener: Listener | None = None) -> Plan:
        """Take over what `Options.standing` and `claims` name and the program declares; nothing else is changed.

        The components of a program that are not in the state yet are made with it, since one of them may be a parent.
        Nothing is written where nothing is found.
        """
        options = replace(options, adopting=True)
        plan = self.preview(options)
        shown: tuple[Op, ...] = ()
        if not plan.failed and any(step.op is Op.ADOPT for step in plan.steps):
            with held(self._files) as lock, self._working(options, listener, lock) as parts:
                self._run_program(parts, parts.deletion.plan)
            plan, shown = self._plan(parts.run), (Op.ADOPT, Op.CREATE)
        return replace(plan, steps=tuple(step for step in plan.steps if step.op in shown or step.error))

    def forget(self, steps: Iterable[Step], listener: Listener | None = None) -> Plan:
        """Let the state go of the resources of these steps; no cloud is asked."""
        with held(self._files) as lock, self._working(None, listener, lock) as parts:
            gone = {step.urn for step in steps}
            parts.run.note(drop=tuple(state for state in parts.run.states.values() if state.urn in gone))
            for step in steps:
                parts.run.ended(step)
        return self._plan(parts.run)

    def refresh(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """Take over what the cloud says of every resource in the state."""
        with held(self._files) as lock, self._working(options, listener, lock) as parts:
            settle(parts.run, parts.registry, forgetting=True)
            refresh.refresh(parts.run, parts.registry)
        return self._plan(parts.run)

    def destroy(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """Delete everything in the state, or the targets; a protected resource keeps all of it."""
        with held(self._files) as lock, self._working(options, listener, lock) as parts:
            settle(parts.run, parts.registry)
            self._delete(parts, protected.kept, parts.deletion.execute)
        return self._plan(parts.run)

    def preview_destroy(self, options: Options | None = None, listener: Listener | None = None) -> Plan:
        """What `destroy` would do; changes neither state nor cloud, and waits for no lock."""
        parts = self._parts(options, listener)
        settle(parts.run, parts.registry)
        self._delete(parts, protected.kept, parts.deletion.plan)
        return self._plan(parts.run)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs as last recorded, secrets masked; empty where there is no state."""
        return masked(self._load().outputs)

    def export(self) -> dict[str, Any]:
        """The state as `pulumi stack export` shows it and `pulumi stack import` takes it."""
        document = checkpoint.document_of(self._files, self._load())
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
        self,
        options: Options | None,
        listener: Listener | None,
        journal: Journal | None = None,
        snapshot: checkpoint.Snapshot | None = None,
    ) -> _Parts:
        snapshot = snapshot or self._load()
        snapshot.vault.check()
        run = EngineRun(snapshot, options or Options(), listener, journal)
        for said in snapshot.said:
            run.say("warning", said)
        registry = Providers(run, self.providers, self.config, self.stack, self.project)
        replacements = Replacements(run, registry)
        existing = Existing(run, registry, self.backend, self.passphrase)
        deployment = Deployment(run, registry, replacements, existing)
        monitor = Monitor(run, deployment, existing, self.stack, self.project)
        return _Parts(run, registry, Deletion(run, registry, replacements), monitor)

    def _run_program(self, parts: _Parts, delete: Callable[[list[ResourceState]], None]) -> None:
        """Settle what was in flight, run the program, and delete what it does not ask for."""
        run = parts.run
        settle(run, parts.registry)
        if run.options.refresh:
            refresh.refresh(run, parts.registry, quiet=True)
        run.olds = run.snapshot.live()
        ended_well = program.execute(
            self.program, parts.monitor, run, project=self.project, stack=self.stack, config=self.config
        )
        if ended_well and not run.stopping.is_set() and not run.options.adopting:
            self._delete(parts, protected.undeclared, delete)

    @staticmethod
    def _delete(
        parts: _Parts, words: Callable[[Sequence[Step]], str], delete: Callable[[list[ResourceState]], None]
    ) -> None:
        run = parts.run
        if unknown := ", ".join(run.targets.unmatched({*run.olds, *run.seen})):
            raise EngineError(f"no such resource: {unknown}; `preview --json` lists the URNs of all resources")
        found = parts.deletion.to_delete()
        if not parts.deletion.protected(found, words):
            if run.options.first is not None and not run.preview:
                run.options.first()
            delete(found)

    @contextmanager
    def _working(self, options: Options | None, listener: Listener | None, lock: Held) -> Generator[_Parts]:
        """An operation that changes something: journal, Ctrl-C, and at the end the checkpoint."""
        snapshot = self._load()
        snapshot.vault.check()
        if snapshot.journals or not snapshot.digest:
            checkpoint.save(self._files, snapshot)
        journal = Journal(self._files.journals / f"{lock.name}.jsonl", snapshot.digest)
        parts = self._parts(options, listener, journal, snapshot)
        run = parts.run
        for holder in lock.taken_over:
            run.say("warning", f"removed the lock of {holder}, a process that has ended")
        with interruptible(run) as presses:
            try:
                yield parts
            finally:
                with closing(journal):
                    parts.deletion.replacements.report_unfinished()
                    snapshot.operations += run.under_way.values()
                    checkpoint.save(self._files, snapshot)
                journal.path.unlink()
        if presses:
            raise KeyboardInterrupt

    def _plan(self, run: EngineRun) -> Plan:
        return run.plan(self.stack, ENGINE, self.cloud)
