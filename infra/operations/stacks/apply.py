"""Making the cloud as a stack file says: the plan that is applied, and its application on a fleet that is held."""

from __future__ import annotations

from infra.engines import phased
from infra.model.plan import Plan
from infra.operations.ports import UNWATCHED, Watch
from infra.operations.session import Session, interruptible
from infra.operations.stacks.declared import Declared
from infra.operations.stacks.holding import Holding
from infra.operations.stacks.overwritten import records_read_again
from infra.operations.stacks.preview import Planned, judged_where_it_stands


def plan_apply(session: Session, wanted: Declared, *, drains: bool = True) -> Planned:
    """The plan that `apply` takes. Unlike a preview it sees a fleet's records that others changed behind the state.

    drains: whether jobs on VMs that go are waited for.
    """
    plan, targeted = session.engine().preview(), bool(session.request.targets)
    if not targeted and records_read_again(session, wanted, plan):
        plan = session.engine().preview()
    return judged_where_it_stands(session, plan, wanted, at_once=not drains or targeted)


def apply(session: Session, planned: Planned, watch: Watch = UNWATCHED, *, drains: bool = True) -> Plan:
    """Apply a plan that may be applied; what became of each of its steps.

    Raises Failure where nothing was changed: the stack file was edited since, or the lease on the fleet is another's.
    """
    hold = Holding(wanted=planned.wanted, session=session, drains=drains)
    hold.insist_on_file("its plan was shown")
    bounds = planned.wanted.bounds if planned.phases is not None else ()
    with interruptible(planned.plan.stack, "up"), watch as listener:
        hear = listener or (lambda _: None)
        return phased.apply(planned.plan, bounds, session.engine, hear, planned.away, hold, at_once=planned.at_once)
