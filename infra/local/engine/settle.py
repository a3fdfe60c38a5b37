"""What is done about operations that were in flight when a run died.

Owns the settling of each kind: look at what the cloud has now and put that into the state, so that the run which
follows plans from the truth. Says what it found. In a preview it looks too and writes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from infra.local.engine.errors import EngineError
from infra.local.engine.outputs import taken_over
from infra.local.engine.provider import ProviderError
from infra.local.engine.run import now
from infra.model import urns
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from infra.local.engine.journal import OperationType
    from infra.local.engine.registry import Registry
    from infra.local.engine.run import Run
    from infra.local.engine.state import State


def settle(run: Run, registry: Registry, *, forgetting: bool = False) -> None:
    """Settle every operation that was in flight; EngineError names each that cannot be.

    forgetting: take a create whose id nobody can foretell for one that made nothing, as a refresh does.
    """
    unsettled: list[str] = []
    for kind, state in list(run.snapshot.operations):
        was = f"{urns.name_of(state.urn)} ({state.type}) was being {_DOING[kind]} when the last run ended"
        try:
            said = _settle(run, registry, kind, state)
        except _UnforetoldError:
            if not forgetting:
                unsettled.append(
                    f"{was}, and its id cannot be foretold: look for it in the cloud, delete it there if it exists, "
                    f"then run `./tidepool refresh {urns.stack_of(state.urn)}`, which forgets it; up makes it anew"
                )
                continue
            said = ": it is forgotten, for its id cannot be foretold"
        except ProviderError as error:
            unsettled.append(f"{was}, and cannot be looked up: {error}")
            continue
        run.say("warning", was + said, state.urn)
        run.snapshot.operations.remove((kind, state))
    if unsettled:
        raise EngineError("\n".join(unsettled))


_DOING = {
    "creating": "created",
    "updating": "updated",
    "deleting": "deleted",
    "reading": "read",
    "importing": "imported",
}


class _UnforetoldError(Exception):
    """Only the API knows the id that a create led to."""


def _settle(run: Run, registry: Registry, kind: OperationType, state: State) -> str:
    """Put into the state what has become of an operation; the rest of the sentence that says it."""
    if kind == "creating":
        return _settle_create(run, registry, state)
    if kind in ("updating", "deleting"):
        return _settle_change(run, registry, state)
    return ": nothing had to be done"


def _settle_change(run: Run, registry: Registry, state: State) -> str:
    known = run.states.get(state.key)
    if known is None:
        return "; the state has it no more"
    provider = registry.of(known.provider)
    found = provider.read(known.type, known.id, reveal(known.inputs))
    if found is None:
        run.note(drop=(known,))
        return ": it is gone"
    outputs = taken_over(known, found.outputs, provider.secret_outputs(known.type))
    run.note(replace(known, outputs=outputs, modified=now()))
    return ": it is there, and is planned again"


def _settle_create(run: Run, registry: Registry, state: State) -> str:
    known = run.states.get(state.urn)
    provider = registry.of(state.provider)
    where = provider.locate(state.type, reveal(state.inputs))
    if where is None:
        raise _UnforetoldError
    if where in run.options.foreign:
        return f": another's stands there as {where}, and is left alone"
    found = provider.read(state.type, where, reveal(state.inputs))
    if found is None:
        return ": it is not there, and is created again"
    if known is not None and known.id == found.id and not known.pending_replacement:
        return ": it is in the state already"
    outputs = taken_over(state, found.outputs, provider.secret_outputs(state.type))
    adopted = replace(state, id=found.id, outputs=outputs, created=now(), modified=now())
    before = (replace(known, delete=True),) if known is not None and not known.pending_replacement else ()
    run.note(adopted, *before)
    return f": it is there as {found.id}, and is taken over"
