"""When an object is ready, by kind, and the wait for it.

Owns what of a status counts, as the official provider's awaiters do; a kind that is not named is ready once it is
written. Sources: pulumi-kubernetes, "Await logic", and kubectl's rollout status, read 2026-11.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.engine.provider import Cancel, CancelledError
from bench.providers.kubernetes.reach import ApiRefusedError, UnreachableError

JsonObject = dict[str, Any]

PATIENCE: Final = 600.0
"""Seconds that an object may take where neither the program nor its annotations say."""
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Readiness:
    """waits: what is still missing, empty once it is ready. failed: whether it will never be."""

    waits: str = ""
    failed: bool = False


READY: Final = Readiness()


class NotReadyError(Exception):
    """It failed, or its time is over. live: as it was last."""

    def __init__(self, message: str, live: JsonObject) -> None:
        super().__init__(message)
        self.live = live


def readiness(api_version: str, live: JsonObject) -> Readiness:
    """Whether an object is ready, by its own status."""
    rule = _RULES.get((api_version.rpartition("/")[0], live["kind"]))
    if rule is None:
        return READY
    seen = live.get("status", {}).get("observedGeneration")
    if seen is not None and seen < live["metadata"].get("generation", 1):
        return Readiness("its controller has not seen the last change")
    return rule(live)


def until_ready(
    read: Callable[[], JsonObject | None], api_version: str, live: JsonObject, seconds: float, cancel: Cancel
) -> JsonObject:
    """The object once it is ready. Raises NotReadyError and CancelledError."""
    deadline, turn = time.monotonic() + seconds, 0
    while (state := readiness(api_version, live)).waits:
        if state.failed:
            raise NotReadyError(state.waits, live)
        if time.monotonic() > deadline:
            raise NotReadyError(f"not ready after {seconds:.0f} s: {state.waits}", live)
        if cancel.wait(_PAUSES[min(turn, len(_PAUSES) - 1)]):
            raise CancelledError("stopped waiting until it is ready; the cluster goes on starting it")
        turn += 1
        try:
            found = read()
        except UnreachableError:
            continue  # As it was: a control plane that GKE upgrades is away for minutes.
        except ApiRefusedError as error:
            raise NotReadyError(str(error), live) from error
        if found is None:
            raise NotReadyError("it was deleted meanwhile", live)
        live = found
    return live


def until_gone(read: Callable[[], JsonObject | None], uid: str, seconds: float, cancel: Cancel) -> JsonObject | None:
    """None once nothing, or another object, has the name; else the object as it is when the time is over."""
    deadline, turn = time.monotonic() + seconds, 0
    while (found := read()) is not None and found["metadata"].get("uid") == uid:
        if time.monotonic() > deadline:
            return found
        if cancel.wait(_PAUSES[min(turn, len(_PAUSES) - 1)]):
            raise CancelledError("stopped waiting until it is deleted; the cluster goes on deleting it")
        turn += 1
    return None


def _conditions(live: JsonObject) -> Mapping[str, JsonObject]:
    return {each["type"]: each for each in live.get("status", {}).get("conditions") or ()}


def _has(live: JsonObject, condition: str) -> bool:
    return _conditions(live).get(condition, {}).get("status") == "True"


def _said(live: JsonObject, condition: str) -> str:
    found = _conditions(live).get(condition, {})
    return str(found.get("message") or found.get("reason") or condition)


def _deployment(live: JsonObject) -> Readiness:
    status, wanted = live.get("status", {}), live["spec"].get("replicas", 1)
    if _conditions(live).get("Progressing", {}).get("reason") == "ProgressDeadlineExceeded":
        return Readiness(_said(live, "Progressing"), failed=True)
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if status.get("observedGeneration") is None or updated < wanted:
        return Readiness(f"{updated} of {wanted} replicas are updated")
    if status.get("replicas", 0) > updated:
        return Readiness("old replicas are still ending")
    return Readiness(f"{available} of {wanted} replicas are available") if available < wanted else READY


def _stateful_set(live: JsonObject) -> Readiness:
    status, wanted = live.get("status", {}), live["spec"].get("replicas", 1)
    ready, current = status.get("readyReplicas", 0), status.get("currentRevision")
    if status.get("observedGeneration") is None or ready < wanted:
        return Readiness(f"{ready} of {wanted} replicas are ready")
    if status.get("updateRevision") != current and status.get("updatedReplicas", 0) < wanted:
        return Readiness("its new revision is still rolling out")
    return READY


def _daemon_set(live: JsonObject) -> Readiness:
    status = live.get("status", {})
    if status.get("observedGeneration") is None:
        return Readiness("no controller has seen it")
    wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
    return Readiness(f"{ready} of {wanted} pods are ready") if ready < wanted else READY


def _job(live: JsonObject) -> Readiness:
    if _has(live, "Failed"):
        return Readiness(_said(live, "Failed"), failed=True)
    return READY if _has(live, "Complete") else Readiness("the job has not completed")


def _pod(live: JsonObject) -> Readiness:
    phase = live.get("status", {}).get("phase")
    if phase == "Failed":
        return Readiness(str(live["status"].get("message") or "the pod has failed"), failed=True)
    return READY if phase == "Succeeded" or _has(live, "Ready") else Readiness("the pod is not ready")


def _service(live: JsonObject) -> Readiness:
    """A balancer's address is awaited; endpoints are not, whose pods another resource may declare later."""
    if live.get("spec", {}).get("type") != "LoadBalancer":
        return READY
    given = live.get("status", {}).get("loadBalancer", {}).get("ingress")
    return READY if given else Readiness("its load balancer has no address")


def _definition(live: JsonObject) -> Readiness:
    conditions = _conditions(live)
    if conditions.get("NamesAccepted", {}).get("status") == "False":
        return Readiness(_said(live, "NamesAccepted"), failed=True)
    return READY if _has(live, "Established") else Readiness("the API server does not serve it yet")


_RULES: Final[Mapping[tuple[str, str], Callable[[JsonObject], Readiness]]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}
