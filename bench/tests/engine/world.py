"""A stack to run programs in: a backend folder, a fake cloud, and engines over both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.engine.backend import Backend, StackFiles
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.tests.engine.fake import Cloud, FakeProvider
from infra.model.plan import Event, Op, Plan, Status, Step

PROJECT, STACK = "tidepool", "ci"


@dataclass
class World:
    """One project in one backend; `program` may be exchanged between runs, as an edit of the program."""

    root: Path
    program: Callable[[], object] = lambda: None
    cloud: Cloud = field(default_factory=Cloud)
    config: dict[str, str] = field(default_factory=lambda: {"fake:project": "p"})
    passphrase: str = "correct horse"
    events: list[Event] = field(default_factory=list)

    def engine(self, stack: str = STACK) -> Engine:
        return Engine(
            Backend(self.root),
            PROJECT,
            stack,
            self.config,
            self._declare,
            {"fake": FakeProvider(self.cloud)},
            lambda: self.passphrase,
            "local",
        )

    def _declare(self) -> None:
        self.program()

    def preview(self, stack: str = STACK, **options: Any) -> Plan:
        return self.engine(stack).preview(Options(**options), self.events.append)

    def up(self, stack: str = STACK, **options: Any) -> Plan:
        return self.engine(stack).up(Options(**options), self.events.append)

    def refresh(self, **options: Any) -> Plan:
        return self.engine().refresh(Options(**options), self.events.append)

    def destroy(self, **options: Any) -> Plan:
        return self.engine().destroy(Options(**options), self.events.append)

    def run(self, program: Callable[[], object], **options: Any) -> Plan:
        """Exchange the program and bring it up; it must succeed."""
        self.program = program
        plan = self.up(**options)
        assert not plan.failed, problems(plan)
        return plan

    @property
    def files(self) -> StackFiles:
        return Backend(self.root).files(PROJECT, STACK)

    @property
    def state(self) -> dict[str, dict[str, Any]]:
        """Resource objects of the checkpoint by name; replaced ones and pending ones must not be among them."""
        found = self.checkpoint["resources"]
        return {entry["urn"].rpartition("::")[2]: entry for entry in found}

    @property
    def checkpoint(self) -> dict[str, Any]:
        return json.loads(self.files.checkpoint.read_bytes())["checkpoint"]["latest"]


def ops(plan: Plan, *, same: bool = False) -> dict[str, str]:
    """Operations by name, unchanged resources left out unless asked for."""
    return {step.name: step.op.value for step in plan.steps if same or step.op is not Op.SAME}


def step(plan: Plan, name: str) -> Step:
    found = [one for one in plan.steps if one.name == name]
    assert len(found) == 1, found
    return found[0]


def problems(plan: Plan) -> list[str]:
    errors = [said.message for said in plan.diagnostics if said.severity == "error"]
    return errors + [f"{one.name}: {one.error}" for one in plan.steps if one.status is Status.FAILED]


def verify(latest: dict[str, Any]) -> None:
    """What the official CLI checks of a checkpoint before it trusts it: everything stands after what it refers to."""
    seen: set[str] = set()
    providers: set[str] = set()
    live: set[str] = set()
    for entry in latest.get("resources", ()):
        urn = entry["urn"]
        if entry["type"].startswith("pulumi:providers:"):
            providers.add(f"{urn}::{entry['id']}")
        assert entry["custom"] or not entry.get("id"), urn
        if entry.get("provider") and not entry.get("pendingReplacement"):
            assert entry["provider"] in providers, f"{urn} refers to an unknown provider"
        for reference in _references(entry):
            assert reference in seen, f"{urn} stands before {reference}"
        if not entry.get("delete"):
            assert urn not in live, f"two of {urn}"
            live.add(urn)
        seen.add(urn)


def _references(entry: dict[str, Any]) -> Iterable[str]:
    if "parent" in entry:
        yield entry["parent"]
    yield from entry.get("dependencies", ())
    for urns in entry.get("propertyDependencies", {}).values():
        yield from urns
