"""VMs of a stack that its state does not have, deleted before the stack is destroyed.

A controller makes VMs that no apply has recorded, and one that was killed leaves some behind. `destroy` works from the
state, so it would leave them: billed, and in the way of the subnetwork that they stand in. Owns finding them by their
labels, wherever they stand, and waiting until they are gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from infra.engines.protocol import EngineRequest, Listener
from infra.engines.standing import PATIENCE, nodes_in, pause, vm_urn
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.model.errors import ConfigError
from infra.model.fleet import owns
from infra.model.plan import Diagnostic, Op, Status, Step, StepEnded, StepStarted
from infra.model.planned_capacity import VM_TYPE
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.urns import Targets

Node = Mapping[str, Any]
EVERYWHERE: Final = "-"
"""The location that stands for all of a project's, as lists of the Cloud TPU API take it."""
_GONE: Final = 404
_WRONG_FILE: Final = (
    "VMs that the state lacks are not looked for, since the stack file has mistakes: mend it and run again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strays:
    """steps: a deletion for each. said: what could not be looked for, as errors: VMs may be left."""

    steps: tuple[Step, ...] = ()
    said: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a state has. vms: the ids of its VMs that are whole. urns: those of all its resources."""

    vms: frozenset[str] = frozenset()
    urns: frozenset[str] = frozenset()


def plan_strays(request: EngineRequest, recorded: Recorded) -> Strays:
    """What `delete_strays` would do, and what it could not."""

    def plan(config: StackConfig, _: OwnVms, found: Mapping[str, Node]) -> Iterator[Step]:
        return (_step(config, id_, found[id_]) for id_ in sorted(found))

    return _strays(request, recorded, plan, "could not be looked for", "warning")


def delete_strays(request: EngineRequest, recorded: Recorded, listener: Listener | None) -> Strays:
    """Delete every VM with the stack's labels that the state lacks; of the request's targets where it has any.

    Where the state has no resource at all a live fleet may have its state elsewhere: then nothing is deleted that is
    not named as a target.
    """
    tell = listener or (lambda _: None)

    def delete(config: StackConfig, own: OwnVms, found: Mapping[str, Node]) -> Iterator[Step]:
        for id_ in found:
            tell(StepStarted(step=_step(config, id_, found[id_])))
        return own.delete(found)

    strays = _strays(request, recorded, delete, "were not looked for", "error")
    for step in strays.steps:
        tell(StepEnded(step=step))
    return strays


def for_engine(request: EngineRequest, strays: Strays, recorded: Recorded) -> tuple[str, ...] | None:
    """The request's targets without those that are strays alone; None where that leaves an engine nothing to do.

    A VM that stands at a fallback is a stray there, and in the state at its home.
    """
    alone = {step.urn for step in strays.steps} - recorded.urns
    left = tuple(target for target in request.targets if target not in alone)
    return left if left or not request.targets else None


def targets_of_destroy(request: EngineRequest, recorded: Recorded) -> tuple[str, ...] | None:
    """The targets of a destroy, as `for_engine` says. Nothing is looked for where nothing was targeted."""
    return for_engine(request, plan_strays(request, recorded), recorded) if request.targets else ()


def _strays(
    request: EngineRequest,
    recorded: Recorded,
    work: Callable[[StackConfig, OwnVms, Mapping[str, Node]], Iterator[Step]],
    lacking: str,
    severity: Literal["error", "warning"],
) -> Strays:
    """The steps that some work makes of the strays. lacking: what is said of them where Google does not answer."""
    try:
        config = load_stack(request.root, request.stack, alone=True)
        with clients(config.project, request.cloud_url) as google:
            own = OwnVms(google, config, recorded.vms, pause(request))
            found = _asked(request, config, own.standing())
            if found and not (recorded.urns or request.targets):
                return _said(_stateless(request.stack, found))
            return Strays(steps=tuple(work(config, own, found)))
    except ConfigError:
        return _said(_WRONG_FILE, severity)
    except GoogleError as error:
        return _said(f"VMs that the state lacks {lacking}, and may stand: {error}", severity)


def _asked(request: EngineRequest, config: StackConfig, found: Mapping[str, Node]) -> dict[str, Node]:
    asked = Targets(request.targets)
    return {id_: node for id_, node in found.items() if _step(config, id_, node).urn in asked}


def _said(message: str, severity: Literal["error", "warning"] = "error") -> Strays:
    return Strays(said=(Diagnostic(severity=severity, message=message),))


def _stateless(stack: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    names = ", ".join(sorted(id_.rpartition("/")[2] for id_ in found))
    return (
        f"the state has nothing of {stack}, and VMs with its labels stand: {names}. None was deleted: if this is the "
        f"right backend, run `./tidepool adopt {stack}` first, then destroy"
    )


class OwnVms:
    """The VMs that belong to one stack by their labels, in any zone, but for those whose ids are known."""

    def __init__(self, google: Clients, config: StackConfig, known: frozenset[str], pause_: float) -> None:
        self._nodes = google.api(Api.TPU).projects().locations().nodes()
        self._config = config
        self._known = known
        self._pause = pause_

    def standing(self) -> dict[str, Mapping[str, Any]]:
        """Those that are listed now, by id. Raises GoogleError where any zone does not answer."""
        listed = nodes_in(self._nodes, f"projects/{self._config.project}/locations/{EVERYWHERE}")
        ours = (node for node in listed if owns(self._config.stack, node.get("labels") or {}))
        return {node["name"]: node for node in ours if node["name"] not in self._known}

    def delete(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Step]:
        """Ask for each delete, wait for all of them, and say how each ended."""
        began, until = time.monotonic(), time.monotonic() + PATIENCE
        asked: set[str] = set()
        trouble: dict[str, str] = {}
        left = dict(found)
        while left:
            for id_ in [id_ for id_, node in left.items() if id_ not in asked and node.get("state") != "DELETING"]:
                try:
                    execute(self._nodes.delete(name=id_), f"deleting {id_}")
                except GoogleError as error:
                    trouble[id_] = str(error)
                    if error.status != _GONE:
                        continue
                asked.add(id_)
            if time.monotonic() >= until or (trouble.keys() >= left.keys() and not asked & left.keys()):
                break
            time.sleep(self._pause)
            left = self._still(left)
        seconds = round(time.monotonic() - began, 3)
        for id_, node in found.items():
            step = replace(_step(self._config, id_, node), status=Status.DONE, seconds=seconds)
            if id_ not in left:
                yield step
                continue
            why = trouble.get(id_) or f"it is still {left[id_].get('state')} after {PATIENCE / 60:.0f} minutes"
            yield replace(step, status=Status.FAILED, error=why)

    def _still(self, left: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """Those that are listed still; all of them where nothing can be learned now."""
        try:
            return {id_: node for id_, node in self.standing().items() if id_ in left}
        except GoogleError:
            return dict(left)


def _step(config: StackConfig, id_: str, node: Mapping[str, Any]) -> Step:
    """The deletion of a stray, under the URN that the program gives a VM of its name."""
    name = id_.rpartition("/")[2]
    urn = vm_urn(config.stack, name)
    inputs = {"name": name, "zone": id_.split("/")[3], "acceleratorType": node.get("acceleratorType", "")}
    labels = {"labels": dict(node.get("labels") or {})}
    return Step(op=Op.DELETE, urn=urn, type=VM_TYPE, name=name, old_inputs={**inputs, **labels})
