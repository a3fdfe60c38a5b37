"""Fleets of TPU VMs below real limits: a program that declares them, the local cloud that refuses over-use, and the
highest that each limit was ever drawn on."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pulumi
import pulumi_gcp as gcp
import pytest

from bench.cloud.limits import Limits, LimitScope
from bench.cloud.testing import TestCloud
from bench.engine.backend import Backend
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.providers.google import GoogleProvider
from infra.engines import protocol
from infra.engines.passes import Hold, phases_of
from infra.engines.phased import apply
from infra.engines.protocol import Listener
from infra.model.bounds import Bound
from infra.model.phases import Phases
from infra.model.plan import Op, Plan, Status
from infra.model.planned_capacity import VM_TYPE
from infra.model.schema import Quota, Reservation

PROJECT = "my-lab"
ZONE = "us-west4-a"
KINDS = ("on-demand", "preemptible", "reserved")


@dataclass(frozen=True, kw_only=True)
class Pool:
    """VMs that are alike. pool: whose they are by label, where not of the pool whose name they have."""

    size: int
    accelerator: str = "v5litepod-4"
    kind: str = "reserved"
    pool: str | None = None


Pools = Mapping[str, Pool]


def bound(kind: str, chips: int, *, others: int = 0) -> Bound:
    """A limit on v5e chips in ZONE."""
    place: dict[str, Any] = {"project": PROJECT, "zone": ZONE, "generation": "v5e", "chips": chips}
    if kind == "reserved":
        return Bound(limit=Reservation(name="lab", **place), others=others)
    return Bound(limit=Quota(kind=kind, **place), others=others)


def declare(cloud: TestCloud, bound: Bound) -> None:
    """Let the local cloud keep to this limit as Google does."""
    kind = bound.limit.kind.value if isinstance(bound.limit, Quota) else "reserved"
    cloud.control.limit(
        project=PROJECT,
        zone=ZONE,
        generation="v5e",
        chips=bound.limit.chips,
        capacity=kind,
        held_elsewhere=bound.others,
    )


def program(pools: Pools) -> Callable[[], None]:
    def declare_vms() -> None:
        for name, pool in pools.items():
            scheduling = gcp.tpu.V2VmSchedulingConfigArgs(**{pool.kind: True}) if pool.kind != "on-demand" else None
            for index in range(pool.size):
                vm = f"{name}-{ZONE}-{index}"
                gcp.tpu.V2Vm(
                    vm,
                    name=vm,
                    project=PROJECT,
                    zone=ZONE,
                    accelerator_type=pool.accelerator,
                    runtime_version="v2-alpha-tpuv5-lite",
                    scheduling_config=scheduling,
                    labels={"tidepool-pool": pool.pool or name},
                    opts=pulumi.ResourceOptions(delete_before_replace=True),
                )

    return declare_vms


@dataclass(frozen=True)
class OnePass:
    """An engine for one pass, as far as `infra.engines.Engine` is asked of in an apply."""

    engine: Engine
    options: Options

    def up(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        return self.engine.up(replace(self.options, previewed=planned is not None), listener)

    def adopt(self, listener: Listener | None = None) -> Plan:
        return self.engine.adopt(self.options, listener)

    def destroy(self, listener: Listener | None = None) -> Plan:
        return self.engine.destroy(self.options, listener)


@dataclass
class Stack:
    """One stack at one local cloud."""

    root: Path
    cloud: TestCloud

    def preview(self, pools: Pools) -> Plan:
        one = self._pass(pools, (), True)
        return one.engine.preview(one.options)

    def phases(self, pools: Pools, *bounds: Bound) -> Phases:
        return phases_of(self.preview(pools), bounds)

    def up(self, pools: Pools, *bounds: Bound, hold: Hold | None = None) -> Plan:
        """As `./tidepool up` does it. hold: what waits before VMs go; without one they go at once."""

        def make(
            *, targets: tuple[str, ...], continue_on_error: bool, excludes: tuple[str, ...] = ()
        ) -> protocol.Engine:
            return cast("protocol.Engine", self._pass(pools, targets, continue_on_error, excludes))

        plan = self.preview(pools)
        assert not plan.failed, plan.diagnostics
        return apply(plan, bounds, make, lambda _: None, None, hold, at_once=hold is None)

    def standing(self) -> dict[str, str]:
        """Accelerator types of the cloud's VMs by name."""
        return {node["name"].rsplit("/", 1)[-1]: node["acceleratorType"] for node in self.cloud.control.nodes()}

    def _pass(self, pools: Pools, targets: tuple[str, ...], go_on: bool, excludes: tuple[str, ...] = ()) -> OnePass:
        engine = Engine(
            Backend(self.root),
            "tidepool",
            "fleet",
            {"gcp:project": PROJECT},
            program(pools),
            {"gcp": GoogleProvider(self.cloud.url, PROJECT)},
            lambda: "a passphrase",
            "local",
        )
        options = Options(targets=targets, excludes=excludes, continue_on_error=go_on)
        return OnePass(engine, options)


@contextmanager
def nothing_runs(**_: object) -> Generator[None]:
    """A hold that waits for nobody."""
    yield


@contextmanager
def stack_at(cloud: TestCloud) -> Generator[Stack]:
    """An empty stack at a cloud that has forgotten everything."""
    cloud.control.reset()
    with tempfile.TemporaryDirectory() as root:
        yield Stack(Path(root), cloud)


def declared(pools: Pools) -> dict[str, str]:
    return {f"{name}-{ZONE}-{i}": pool.accelerator for name, pool in pools.items() for i in range(pool.size)}


def vms(run: Plan, status: Status | None = None) -> dict[str, Op]:
    """What became of VMs by name, unchanged ones left out."""
    steps = [step for step in run.steps if step.type == VM_TYPE and step.op is not Op.SAME]
    return {step.name: step.op for step in steps if status in (None, step.status)}


def refusals(cloud: TestCloud) -> list[dict[str, Any]]:
    """Requests that a limit has refused."""
    return [entry for entry in cloud.control.log(limit=10_000) if entry["status"] == 429]


def watch(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The most chips ever drawn on each kind of limit, seen at every single grant."""
    marks: Counter[str] = Counter()
    take = Limits.take

    def taken(self: Limits, holder: str, scope: LimitScope, chips: int) -> None:
        take(self, holder, scope, chips)
        marks[scope.capacity] = max(marks[scope.capacity], self.held(scope))

    monkeypatch.setattr(Limits, "take", taken)
    return marks
