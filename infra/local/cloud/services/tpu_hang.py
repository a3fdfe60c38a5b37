"""TPU operations that do not end: nodes that stay CREATING or DELETING because a `hang` rule struck them.

Owns how such an operation is held and how it goes on: when the time of its rule is over, or the rule is lifted, it ends
as it would have, after its ordinary duration. Until then the node holds its chips and can be deleted.
"""

from __future__ import annotations

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.faults import Rule
from infra.local.cloud.registry import reacts
from infra.local.cloud.timeline import Event

_RESUMES = "tpu.node.resumes"
# Longer than any test and shorter than what no calendar has.
_FOREVER = 100 * 365 * 24 * 3600.0


def hold(cloud: Cloud, rule: Rule, event: Event, operation: str, seconds: float) -> None:
    """Let an operation go on. event: what ends it. seconds: its ordinary, realistic duration."""
    cloud.operations.postpone(operation, cloud.now + _FOREVER)
    end = cloud.now + (rule.seconds or _FOREVER)
    held = {"rule": rule.id, "operation": operation, "seconds": seconds, "kind": event.kind, "data": event.data}
    cloud.timeline.add(end if rule.until is None else min(end, rule.until), _RESUMES, event.subject, held)


def release(cloud: Cloud, rule: int | None) -> None:
    """A rule was lifted, or with None all of them: what hangs by it goes on."""
    for event in cloud.timeline.of_kind(_RESUMES):
        if rule in (None, event.data["rule"]):
            cloud.timeline.cancel(event.subject, _RESUMES)
            _resume(cloud, event)


@reacts(_RESUMES)
def _resume(cloud: Cloud, event: Event) -> None:
    end = cloud.now + cloud.compressed(event.data["seconds"])
    cloud.operations.postpone(event.data["operation"], end)
    cloud.timeline.add(end, event.data["kind"], event.subject, event.data["data"])
