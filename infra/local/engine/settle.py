"""What is done about operations that were in flight when a run died.

Owns the settling of each kind: look at what the cloud has now and put that into the state, so that the run which
follows plans from the truth. Says what it found. In a preview it looks too and writes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from infra.local.engine import urns
from infra.local.engine.errors import EngineError
from infra.local.engine.outputs import taken_over
from infra.local.engine.run import now
from infra.local.engine.values import reveal

if TYPE_CHECKING:
    from infra.local.engine.journal import OperationType
    from infra.local.engine.registry import Registry
    from infra.local.engine.run import Run
    from infra.local.engine.state import State


def settle(run: Run, registry: Registry) -> None:
    """Settle every operation that was in flight; EngineError where one cannot be."""
    unsettled: list[str] = []
    for kind, state in list(run.snapshot.operations):
        said = _settle_one(run, registry, kind, state, unsettled)
        if said:
            run.say("info", said, state.urn)
            run.snapshot.operations.remove((kind, state))
    if unsettled:
        raise EngineError("\n".join(unsettled))


def _settle_one(run: Run, registry: Registry, kind: OperationType, state: State, unsettled: list[str]) -> str:
    name = f"{urns.name_of(state.urn)} ({state.type})"
    if kind == "creating":
        return _settle_create(run, registry, state, name, unsettled)
    if kind in ("updating", "deleting"):
        known = run.states.get(state.urn) if not state.delete else run.states.get(state.key)
        if known is None:
            return f"{name} was being {_DOING[kind]} when the last run ended; the state has it no more"
        found = registry.of(known.provider).read(known.type, known.id, reveal(known.inputs))
        if found is None:
            run.note(drop=(known,))
            return f"{name} was being {_DOING[kind]} when the last run ended: it is gone"
        provider = registry.of(known.provider)
        outputs = taken_over(known, found.outputs, provider.secret_outputs(known.type))
        run.note(replace(known, outputs=outputs, modified=now()))
        return f"{name} was being {_DOING[kind]} when the last run ended: it is there, and is planned again"
    return f"{name} was being read when the last run ended: nothing had to be done"


_DOING = {"updating": "updated", "deleting": "deleted"}


def _settle_create(run: Run, registry: Registry, state: State, name: str, unsettled: list[str]) -> str:
    known = run.states.get(state.urn)
    provider = registry.of(state.provider)
    where = provider.locate(state.type, reveal(state.inputs))
    if where is None:
        unsettled.append(
            f"{state.urn} was being created when the last run ended, and its id cannot be foretold: look for it in the "
            "cloud, then either import it (`pulumi import`) or, if it is not there, run `pulumi refresh "
            "--clear-pending-creates`"
        )
        return ""
    found = provider.read(state.type, where, reveal(state.inputs))
    if found is None:
        return f"{name} was being created when the last run ended: it is not there, and is created again"
    if known is not None and known.id == found.id and not known.pending_replacement:
        return f"{name} was being created when the last run ended: it is in the state already"
    outputs = taken_over(state, found.outputs, provider.secret_outputs(state.type))
    adopted = replace(state, id=found.id, outputs=outputs, created=now(), modified=now())
    before = (replace(known, delete=True),) if known is not None and not known.pending_replacement else ()
    run.note(adopted, *before)
    return f"{name} was being created when the last run ended: it is there as {found.id}, and is taken over"
