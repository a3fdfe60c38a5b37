"""A manifest that others changed behind the state, of which an engine sees nothing: its plan finds it unchanged.

A `destroy` that was killed leaves one that declares no VM, and from that the controller deletes the fleet. Owns seeing
it before an apply, and having the state take it over, so that the plan writes it again.
"""

from __future__ import annotations

from infra.fleet.bundle import runner_bundle
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records, UnreadableRecordError, encode
from infra.model import names
from infra.model.plan import Op, Plan
from infra.model.planned_records import OBJECT_TYPE
from infra.operations.errors import Failure
from infra.operations.session import Session
from infra.operations.stacks.declared import Declared


def records_read_again(session: Session, wanted: Declared, plan: Plan) -> bool:
    """Whether the plan leaves a manifest that is not as declared: then the state has the records as they are now.

    Raises Failure where they could not be read.
    """
    standing = {step.name: step.urn for step in plan.steps if step.type == OBJECT_TYPE and step.op is Op.SAME}
    manifest = names.manifest_object(wanted.config.stack)
    if plan.failed or manifest not in standing or _is_as_declared(session, wanted, manifest):
        return False
    session.say(f"{manifest} was changed by others: the state takes over the fleet's records as they are now")
    run = session.engine(targets=tuple(sorted(standing.values()))).refresh()
    if run.failed:
        whys = [step.error or "" for step in run.steps] + [said.message for said in run.diagnostics]
        raise Failure(f"nothing was changed: {manifest} could not be read: {'; '.join(filter(None, whys))}")
    return True


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
