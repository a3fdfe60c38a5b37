"""What people read of plans, runs and pools, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from infra.cli.render.console import say
from infra.cli.render.progress import Progress
from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.fleet import CapacityRow
from infra.model.plan import Diagnostic, Op, PhaseBegun, Status, Step, StepEnded, StepStarted
from infra.operations.fleet.pools import PoolState
from infra.operations.stacks.stack_words import pools_table, registries_line
from infra.operations.stacks.state import without_services_own
from infra.preview.plan_lines import Detail, describe
from infra.preview.run_lines import drift, outcome
from infra.preview.toned import Shown
from tests.cli import plans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import RenderableType

    from infra.model.plan import Plan


def _printed(renderables: Iterable[Shown | RenderableType], width: int = 80) -> str:
    written = StringIO()
    console = Console(file=written, width=width, highlight=False, markup=False)
    for each in renderables:
        say(console, each)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def _described(plan: Plan, width: int = 80, detail: Detail = Detail.FOLDED) -> str:
    return "\n".join(str(line) for line in describe(plan, width, detail))


MIXED = """\
+ create 2
  tpu.V2Vm (1)
      tpu-ci-us-west4-a-2
  artifactregistry.Repository (1)
      us-west4-levanter

~ update 4
  tpu.V2Vm (4)
    labels.owner: ml -> infra
      tpu-v6e-europe-west4-a-5, tpu-v6e-europe-west4-a-{0..2}

! REPLACE 2: each is deleted and created again; `up` waits for running jobs unless --no-drain (2 VMs, 8 chips)
  tpu.V2Vm (2)
    acceleratorType: v4-8 -> v4-32  (forces the replacement)
    labels.team: added core
      tpu-v4-us-central2-b-0
      tpu-v4-us-central2-b-1

- DELETE 2: gone for good (2 VMs, 8 chips)
  tpu.V2Vm (2)
      tpu-ci-us-east1-c-0
      tpu-ci-us-east1-c-1

Capacity
  tpu-ci us-east1-c: 2 -> 0 VMs, 8 -> 0 chips
  tpu-ci us-west4-a: 2 -> 3 VMs, 8 -> 12 chips
  tpu-v4 us-central2-b (v4-32, preemptible): 0 -> 2 VMs, 0 -> 8 hosts, 0 -> 32 chips
  tpu-v4 us-central2-b (v4-8, preemptible): 2 -> 0 VMs, 8 -> 0 chips

ci: 2 to create, 4 to update, 2 to replace, 2 to delete, 3 unchanged"""

FIRST = """\
+ create 22
  tpu.V2Vm (5)
      tpu-ci-us-east1-c-{0..1}, tpu-ci-us-west4-a-{0..1}, train-us-central2-b-0
  artifactregistry: 16 Repository
  1 component
  (--all names each)

Capacity
  tpu-ci us-east1-c: 0 -> 2 VMs, 0 -> 8 chips
  tpu-ci us-west4-a: 0 -> 2 VMs, 0 -> 8 chips
  train us-central2-b: 0 -> 1 VMs, 0 -> 4 hosts, 0 -> 16 chips

ci: 22 to create, 0 unchanged"""


def test_a_plan_names_every_vm_that_goes_and_says_why() -> None:
    assert _described(plans.MIXED) == MIXED


def test_quiet_leaves_what_is_lost_and_the_counts() -> None:
    assert _described(plans.FIRST, detail=Detail.QUIET) == "ci: 22 to create, 0 unchanged"
    said = _described(plans.MIXED, detail=Detail.QUIET)
    assert said == f"{MIXED[MIXED.index('! REPLACE') : MIXED.index('Capacity')]}{MIXED.splitlines()[-1]}"


def test_a_plan_without_changes_is_one_line() -> None:
    assert _described(plans.UNCHANGED) == "ci: nothing to change, 2 unchanged"


def test_warnings_that_every_run_repeats_are_one_line_that_says_how_to_see_them() -> None:
    program = tuple(Diagnostic(severity="warning", message=each, repeats=True) for each in ("no broker", "no builds"))
    plan = replace(plans.plan(), diagnostics=(*program, Diagnostic(severity="warning", message="was in flight")))
    line = "2 warnings that every run repeats (--all shows more)"
    assert _described(plan).splitlines()[:2] == ["warning: was in flight", line]
    assert _described(plan, detail=Detail.EVERY).startswith("warning: no broker\nwarning: no builds\nwarning: was")


def test_a_partly_failed_run_says_what_became_of_every_pool() -> None:
    assert _printed(outcome(plans.FAILED, 4.3)) == (
        "ci: 2 created, 1 failed, 1 skipped, 0 unchanged, in 4.3 s\n"
        "  tpu-ci us-east1-c: 1 VM done\n"
        "  tpu-ci us-west4-a: 2 of 3 VMs not done\n"
        "What is done stays done: mend the cause and run the same command again."
    )


def test_a_refresh_tells_what_differs_and_what_is_gone() -> None:
    grant = plans.other(Op.UPDATE, plans.REPOSITORY, "grant", diff={"etag": plans.changed("a", "b")})
    label = plans.vm(Op.UPDATE, "tpu-ci", "us-west4-a", 0, diff={"labels.owner": plans.changed("ml", "x")})
    run = plans.plan(grant, label, plans.vm(Op.DELETE, "tpu-ci", "us-west4-a", 1), *plans.UNCHANGED.steps)
    assert without_services_own(run).summary["same"] == 3
    assert _printed(drift(without_services_own(run), 1.0)) == (
        "~ tpu-ci-us-west4-a-0 (tpu.V2Vm)\n"
        "    labels.owner: ml -> x\n"
        "- tpu-ci-us-west4-a-1 (tpu.V2Vm) is gone\n"
        "ci: 1 differ, 1 gone, 3 as recorded, in 1.0 s"
    )


def _pool(pool: str, zone: str, accelerator: str, **states: int) -> PoolState:
    count, shape = sum(states.values()), AcceleratorType.parse(accelerator)
    row = CapacityRow(
        pool=pool,
        zone=zone,
        accelerator=accelerator,
        capacity=CapacityKind.PREEMPTIBLE,
        slices=count,
        hosts=count * shape.hosts,
        chips=count * shape.chips,
    )
    return PoolState(row=row, states=states)


POOLS = (
    _pool("tpu-ci", "europe-west4-b", "v5litepod-4", READY=2),
    _pool("tpu-ci", "us-west4-a", "v5litepod-4", PREEMPTED=1, READY=1),
    _pool("training", "us-central2-b", "v4-32", MISSING=1),
    _pool("nightly", "us-central1-ai1a", "tpu7x-8"),
)
TABLE = """\
pool       zone              accelerator  VMs  hosts  chips  state
tpu-ci     europe-west4-b    v5litepod-4    2      2      8  2 READY
tpu-ci     us-west4-a        v5litepod-4    2      2      8  1 READY, 1
                                                             PREEMPTED
training   us-central2-b     v4-32          1      4     16  1 MISSING
nightly    us-central1-ai1a  tpu7x-8        0      0      0  -
all pools                                   5      8     32"""


def test_the_pools_table_fits_80_columns() -> None:
    assert _printed([pools_table(POOLS)]) == TABLE


def test_the_registries_are_told_by_region() -> None:
    assert str(registries_line({"us-west4": ["levanter", "marin"], "us-east1": ["levanter", "marin"]})) == (
        "registries in 2 regions: us-west4, us-east1 (each has levanter, marin)"
    )


def _run(*steps: Step, clock: Callable[[], float] = lambda: 0.0, plan: Plan | None = None) -> str:
    """What is printed of a run of these steps where there is no terminal."""
    written = StringIO()
    console = Console(file=written, width=80, highlight=False, markup=False)
    with Progress(console, plan or plans.plan(*steps), clock=clock) as progress:
        for step in steps:
            progress(StepStarted(step=step))
            progress(StepEnded(step=step))
    return written.getvalue()


def _done(step: Step) -> Step:
    return replace(step, status=Status.DONE, seconds=1.0)


def test_progress_off_a_terminal_is_a_line_a_kind_and_names_what_failed() -> None:
    assert _run(*plans.FAILED.steps, *plans.UNCHANGED.steps) == (
        "FAILED create tpu-ci-us-west4-a-1: Error code 8, message: There is no more capacity in the zone us-west4-a\n"
        "  skipped tpu-ci-us-west4-a-2 (tpu.V2Vm): not begun\n"
        "+ created tpu-ci-us-west4-a-0 (tpu.V2Vm)  (1/4 done, 0:00, 1 failed)\n"
        "+ created tpu-ci-us-east1-c-0 (tpu.V2Vm)  (2/4 done, 0:00, 1 failed)\n"
    )


def test_a_first_run_off_a_terminal_is_a_line_a_service_and_a_line_a_pool_and_zone() -> None:
    assert _run(*map(_done, plans.FIRST.steps)) == (
        "+ created tidepool-ci (stack)  (1/22 done, 0:00)\n"
        "+ created 2 tpu.V2Vm: tpu-ci-us-west4-a-{0..1}  (3/22 done, 0:00)\n"
        "+ created 2 tpu.V2Vm: tpu-ci-us-east1-c-{0..1}  (5/22 done, 0:00)\n"
        "+ created train-us-central2-b-0 (tpu.V2Vm)  (6/22 done, 0:00)\n"
        "+ created artifactregistry: 16 Repository  (22/22 done, 0:00)\n"
    )


def test_a_phase_ends_with_a_line_of_what_it_came_to_and_how_long_the_rest_takes() -> None:
    now = [0.0]
    written = StringIO()
    steps = [_done(plans.vm(op, "tpu-ci", "us-west4-a", index)) for index, op in enumerate([Op.DELETE, Op.CREATE])]
    plan = plans.plan(*steps, _done(plans.vm(Op.CREATE, "tpu-ci", "us-west4-a", 3)))
    with Progress(Console(file=written, width=80), plan, clock=lambda: now[0]) as progress:
        for phase, step in zip(("1 of 2, shrink: deleting 1 VM", "2 of 2, grow: everything else"), steps, strict=True):
            progress(PhaseBegun(severity="info", message=f"phase {phase}"))
            progress(StepStarted(step=step))
            now[0] += 60
            progress(StepEnded(step=step))
    assert written.getvalue() == (
        "phase 1 of 2, shrink: deleting 1 VM\n"
        "- deleted tpu-ci-us-west4-a-0 (tpu.V2Vm) in 1.0 s\n"
        "phase 1 of 2, shrink: 1 done, in 1:00, about 2 min left\n"
        "phase 2 of 2, grow: everything else\n"
        "+ created tpu-ci-us-west4-a-1 (tpu.V2Vm)\n"
        "phase 2 of 2, grow: 1 done, in 1:00, about 60 s left\n"
    )


@pytest.mark.parametrize("width", [80, 120])
def test_progress_on_a_terminal_has_the_counts_first_and_vms_before_all_else(width: int) -> None:
    now = [100.0]
    console = Console(file=StringIO(), width=width, height=7, force_terminal=True, highlight=False)
    progress = Progress(console, total=20, clock=lambda: now[0])
    long = plans.other(Op.CREATE, plans.REPOSITORY, "a-name-that-is-longer-than-a-line/" * 4)
    progress(StepStarted(step=long))
    for index in range(4):
        progress(StepStarted(step=plans.vm(Op.CREATE, "tpu-ci", "us-west4-a", index)))
    progress(StepEnded(step=plans.FAILED.steps[0]))
    now[0] = 175.0
    lines = _printed([progress.frame()], width).splitlines()
    assert [line.rstrip() for line in lines] == [
        "1/20 done, 4 at work, 1:15, about 23 min left",
        "  creating  tpu-ci-us-west4-a-1  tpu.V2Vm  75 s",
        "  creating  tpu-ci-us-west4-a-2  tpu.V2Vm  75 s",
        "  creating  tpu-ci-us-west4-a-3  tpu.V2Vm  75 s",
        "  and 1 more at work",
    ]
    assert all(len(line) <= width for line in lines)


def test_a_plan_that_could_not_be_made_has_its_errors_alone() -> None:
    said = Diagnostic(severity="error", message="the program failed: no such zone")
    assert _described(replace(plans.MIXED, diagnostics=(said,))) == (
        "error: the program failed: no such zone\nci: the plan is incomplete and is not shown; nothing was changed"
    )
