"""Making the cloud as a stack file says: the plan that is applied, and its application on a fleet that is held.

Before it, a manifest that others changed behind the state is seen: a `destroy` that was killed leaves one that declares
no VM, from which the controller deletes the fleet, and an engine finds it unchanged. The state takes it over then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import nullcontext
from typing import Final

from infra.engines import EngineName, phased
from infra.engines.bench import bench
from infra.fleet.bundle import runner_bundle
from infra.fleet.google import GoogleError, clients
from infra.fleet.history import Applied, Verb
from infra.fleet.records import Records, UnreadableRecordError, encode
from infra.model import bucket_names
from infra.model.plan import Op, Plan
from infra.model.planned_capacity import VM_TYPE
from infra.model.planned_records import OBJECT_TYPE
from infra.model.schema import StackConfig
from infra.operations.declared.stack_file import Declared
from infra.operations.errors import Failure, Refusal
from infra.operations.ports import UNWATCHED, Watch
from infra.operations.session import Session, interruptible
from infra.operations.stacks.history import kept, undone
from infra.operations.stacks.holding import Holding
from infra.operations.stacks.preview import Planned, judged_where_it_stands


def records_read_again(session: Session, wanted: Declared, plan: Plan) -> bool:
    """Whether the plan leaves a manifest that is not as declared: then the state has the records as they are now.

    Raises Failure where they could not be read.
    """
    standing = {step.name: step.urn for step in plan.steps if step.type == OBJECT_TYPE and step.op is Op.SAME}
    manifest = bucket_names.manifest_object(wanted.config.stack)
    if plan.failed or manifest not in standing or _is_as_declared(session, wanted, manifest):
        return False
    session.say(f"{manifest} was changed by others: the state takes over the fleet's records as they are now")
    _read(session, standing.values(), manifest)
    return True


def _read(session: Session, urns: Collection[str], what: str) -> None:
    """Take over into the state what the cloud has of these. Raises Failure where that could not be read."""
    run = session.engine(targets=tuple(sorted(urns))).refresh()
    if run.failed:
        whys = [step.error or "" for step in run.steps] + [said.message for said in run.diagnostics]
        raise Failure(f"nothing was changed: {what} could not be read: {'; '.join(filter(None, whys))}")


def _is_as_declared(session: Session, wanted: Declared, name: str) -> bool:
    """Also where it cannot be read: the lease, which is in the same bucket, and the look afterwards tell that.

    Where VMs reach the broker is not compared: the broker's own resource says it, and not the stack file.
    """
    # Here, for the Pulumi SDK takes a second to import.
    from infra.program.records import fleet_documents

    try:
        with clients(wanted.config.project, session.endpoint) as google:
            record = Records(google=google, bucket=wanted.config.bucket.name).read(name)
    except UnreadableRecordError:
        return False
    except GoogleError:
        return True
    if record is None:
        return False
    documents = fleet_documents(
        wanted.config,
        runner_bundle(),
        registry=wanted.registry,
        siblings=wanted.siblings,
        broker=record.body.get("broker"),
    )
    return encode(documents.manifest) == encode(record.body)


def plan_apply(session: Session, wanted: Declared, *, drains: bool = True) -> Planned:
    """The plan that `apply` takes. Unlike a preview it sees a fleet's records that others changed behind the state.

    drains: whether jobs on VMs that go are waited for. Refusal where a cluster runs nothing that is waited for.
    """
    _insist_on_running_cluster(session, wanted.config)
    plan, targeted = session.engine().preview(), bool(session.request.targets)
    if not targeted and records_read_again(session, wanted, plan):
        plan = session.engine().preview()

    def read_again(urns: Collection[str]) -> Plan:
        _read(session, urns, "VMs that are missing")
        return session.engine().preview()

    return judged_where_it_stands(session, plan, wanted, read_again, at_once=not drains or targeted)


def _insist_on_running_cluster(session: Session, config: StackConfig) -> None:
    """The pulumi CLI has Helm install a cluster's operators and wait until they run, which they never do in a store.

    The embedded engine records a release and makes its kinds known.
    """
    cluster, by_helm = config.cluster, session.choice.engine is EngineName.PULUMI and not session.request.targets
    if session.endpoint is None or not (by_helm and cluster and config.queues):
        return
    if not bench().has_api_server(
        session.endpoint, f"projects/{config.project}/locations/{cluster.region}/clusters/{cluster.name}"
    ):
        raise Refusal(
            f"{config.stack} has queues: the pulumi CLI waits until their operators run in the cluster {cluster.name}, "
            "and a cluster of the local cloud runs nothing. Name an API server that has nodes with --kube, or use "
            "--engine local"
        )


def apply(session: Session, planned: Planned, watch: Watch = UNWATCHED, *, drains: bool = True) -> Plan:
    """Apply a plan that may be applied; what became of each of its steps.

    Raises Failure where nothing was changed: the stack file was edited since, or the lease on the fleet is another's.
    """
    config = planned.wanted.config
    before = undone(config, session)
    hold = Holding(wanted=planned.wanted, session=session, drains=drains, brings=_brought(planned.plan, before))
    hold.insist_on_file("its plan was shown")
    bounds = planned.wanted.bounds if planned.phases is not None else ()
    keeping = kept(config, session, Verb.UP, planned.plan) if planned.changes or before else nullcontext()
    with keeping as entry, interruptible(planned.plan.stack, "up"), watch as listener:
        hear = entry.through(listener) if entry else listener or (lambda _: None)
        run = phased.apply(planned.plan, bounds, session.engine, hear, planned.away, hold, at_once=planned.at_once)
        return entry.ran(run) if entry else run


_MAKING: Final = frozenset((Op.ADOPT, Op.CREATE, Op.REPLACE))


def _brought(plan: Plan, before: Iterable[Applied]) -> frozenset[str]:
    """The VMs that this apply makes, and those of applies before it that did not end."""
    steps = (*plan.steps, *(change for each in before for change in each.changes))
    return frozenset(step.name for step in steps if step.type == VM_TYPE and step.op in _MAKING)
