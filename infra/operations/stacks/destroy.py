"""Deleting all that a stack has made: what would go, and its deletion with its VMs drained and its fleet held."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from infra.engines.protocol import Engine
from infra.fleet.controller.lease import LeaseKind
from infra.fleet.google import GoogleError
from infra.fleet.history import Verb
from infra.fleet.transition import declare_again, withdraw
from infra.jobs.client import JobPhase
from infra.jobs.jobset import JOBSETS
from infra.jobs.kube import KubeError
from infra.jobs.standing import Evidence, state
from infra.model import bucket_names, protected
from infra.model.errors import ConfigError
from infra.model.json_shape import JsonShape
from infra.model.plan import Op, Plan
from infra.model.planned_capacity import VM_TYPE
from infra.model.schema import StackConfig
from infra.model.whole import nothing_but
from infra.operations.declared.stack_file import StackFile, stack_file
from infra.operations.declared.targets import insist_found
from infra.operations.errors import Failure
from infra.operations.fleet.cluster_api import cluster_api
from infra.operations.fleet.drained import drained_before
from infra.operations.fleet.looks import Fleet, declared_place
from infra.operations.leased import leased
from infra.operations.ports import UNWATCHED, Watch
from infra.operations.session import Session, interruptible
from infra.operations.stacks.history import kept


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob(JsonShape):
    """A job that has not ended. slices: of its accelerator type, or pods where that is empty."""

    namespace: str
    name: str
    phase: str
    slices: int
    accelerator: str

    def __str__(self) -> str:
        on = f" on {self.slices} x {self.accelerator}" if self.accelerator else ""
        return f"{self.name} of {self.namespace}, {self.phase}{on}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJobs:
    """unknown: why they could not be read; empty where they could."""

    jobs: tuple[RunningJob, ...] = ()
    unknown: str = ""


def running_jobs(config: StackConfig, endpoint: str | None) -> RunningJobs:
    """Whoever submitted them, by namespace and name. endpoint: root URL of the local cloud, None on Google."""
    if config.cluster is None:
        return RunningJobs()
    try:
        with cluster_api(config, config.cluster, endpoint) as kube:
            listed = kube.find(JOBSETS + "/jobsets") or {"items": ()}
    except GoogleError as error:
        return RunningJobs() if error.status == HTTPStatus.NOT_FOUND else RunningJobs(unknown=str(error))
    except KubeError as error:
        return RunningJobs(unknown=str(error))
    found = [(each["metadata"]["namespace"], state(Evidence(jobset=each))) for each in listed["items"]]
    return RunningJobs(
        jobs=tuple(
            RunningJob(
                namespace=namespace,
                name=job.name,
                phase=job.phase.value,
                slices=job.replicas,
                accelerator=job.accelerator,
            )
            for namespace, job in sorted(found, key=lambda each: (each[0], each[1].name))
            if job.phase is not JobPhase.ENDED
        )
    )


_OF_JOBS: Final = ("gcp:container/", "kubernetes:")
"""Types of what jobs stand on: the cluster, its node pools, and namespaces and queues in it."""


def preview_destroy(session: Session, *, exclude_protected: bool = False) -> Plan:
    """What `destroy` would delete. FAILED where anything protected would go, unless that is left out.

    Refusal for a target that is nowhere.
    """
    plan = _engine(session, exclude_protected=exclude_protected).preview_destroy()
    insist_found(session.place.root, plan, session.request.targets)
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What else there is to know of a destroy. kept: protected resources that it leaves, each as `NAME (TYPE)`.

    running: jobs in the cluster, which end with what goes.
    """

    kept: tuple[str, ...] = ()
    running: RunningJobs = field(default_factory=RunningJobs)

    def to_json(self) -> dict[str, Any]:
        """As `destroy --json` has it."""
        jobs = [job.to_json() for job in self.running.jobs]
        return {"kept": list(self.kept), "jobs": jobs, "jobsUnknown": self.running.unknown}


def extent(session: Session, plan: Plan, *, exclude_protected: bool = False) -> Extent:
    """What a destroy that `preview_destroy` has shown keeps, and which jobs it ends."""
    refused = _engine(session, exclude_protected=False).preview_destroy() if exclude_protected else None
    steps = refused.steps if refused else ()
    kept = sorted(protected.label(step) for step in steps if step.error == protected.refused(step))
    ends_jobs = any(step.op is Op.DELETE and step.type.startswith(_OF_JOBS) for step in plan.steps)
    file = _stack_file(session.request.stack) if ends_jobs else None
    running = running_jobs(file.config, session.endpoint) if file else RunningJobs()
    return Extent(kept=tuple(kept), running=running)


def destroy(
    session: Session,
    plan: Plan,
    watch: Watch = UNWATCHED,
    *,
    drains: bool = True,
    exclude_protected: bool = False,
) -> Plan:
    """Delete what `preview_destroy` has shown; what became of it.

    drains: whether jobs are waited for. Raises Failure where nothing was deleted.
    """
    file = _stack_file(session.request.stack)
    records = file.config if file else _records_of(session, plan)
    # The bucket stays, and from a manifest that stays in it the controller would make every VM again.
    withdraws = exclude_protected and not session.request.targets
    with (
        _drained(session, plan, file) if drains else nullcontext(),
        leased(records, session, LeaseKind.DESTROY) if records else nullcontext(),
        kept(records, session, Verb.DESTROY, plan) if records else nullcontext() as entry,
        _withdrawn(records, session) if records and withdraws else nullcontext(),
        interruptible(session.request.stack, "destroy"),
        watch as listener,
    ):
        run = _engine(session, exclude_protected=exclude_protected).destroy(
            entry.through(listener) if entry else listener
        )
        return entry.ran(run) if entry else run


def _engine(session: Session, *, exclude_protected: bool) -> Engine:
    return session.engine(continue_on_error=True, exclude_protected=exclude_protected)


def _stack_file(stack: str) -> StackFile | None:
    """None where it does not even say where the fleet is; what it made once can be deleted all the same."""
    try:
        return stack_file(stack)
    except ConfigError:
        return None


def _records_of(session: Session, plan: Plan) -> StackConfig | None:
    """Where the fleet's records are by what goes, where no stack file says it; None where none are."""
    inputs = {step.name: step.old_inputs or {} for step in plan.steps}
    bucket = inputs.get(bucket_names.manifest_object(session.request.stack), {}).get("bucket")
    projects = {step.old_inputs["project"] for step in plan.steps if step.old_inputs and "project" in step.old_inputs}
    if bucket and len(projects) == 1:
        (project,) = projects
        return nothing_but(stack=session.request.stack, project=project, bucket=bucket)
    if any(step.type == VM_TYPE for step in plan.steps):
        raise Failure(
            f"nothing was deleted: stacks/Pulumi.{session.request.stack}.yaml is invalid, so the fleet's records "
            "cannot be found, and the controller would make the VMs again. Mend the file first"
        )
    return None


def _drained(session: Session, plan: Plan, file: StackFile | None) -> AbstractContextManager[None]:
    vms = sorted(step.name for step in plan.steps if step.type == VM_TYPE and step.op is Op.DELETE)
    if not vms:
        return nullcontext()
    if file is None or file.trouble:
        raise Failure(
            f"nothing was deleted: stacks/Pulumi.{session.request.stack}.yaml is invalid, so its VMs cannot be "
            "drained. Mend the file, or add --no-drain, which cuts off their jobs"
        )
    config = file.config
    place = declared_place(config, session.endpoint)
    return drained_before(Fleet(config=config, session=session, place=place), vms, "destroy")


@contextmanager
def _withdrawn(config: StackConfig, session: Session) -> Generator[None]:
    """The manifest without VMs, for as long as the block lasts; one that then still stands declares them again."""
    try:
        before = withdraw(config, session.endpoint)
    except GoogleError as error:
        raise Failure(f"nothing was deleted: the manifest could not be emptied: {error}") from None
    try:
        yield
    finally:
        if before is not None:
            try:
                if declare_again(config, session.endpoint, before):
                    session.say("not everything was deleted, so the manifest declares the fleet again")
            except GoogleError as error:
                again = f"`./tidepool up {config.stack}` writes it again"
                session.say(f"problem: the manifest declares no VM and could not be restored: {error}; {again}")
