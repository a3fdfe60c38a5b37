"""Taking over what the cloud says: of every resource in the state, and of operations that were in flight.

Owns the reading, many at once, and its record as steps; and what is done about operations that a run left open when it
died: look at what the cloud has now and put that into the state, so that the run which follows plans from the truth.
Changes the state alone; a preview looks too and writes nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from bench.engine.planner import Decision, agreed, step_of
from bench.engine.provider import DiffResult, PropertyDiff, ProviderError
from bench.engine.run import StoppedError
from bench.engine.values import secret_places, with_secrets
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Step
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.registry import Providers
    from bench.engine.run import EngineRun
    from bench.engine.state import ResourceState


def refresh(run: EngineRun, registry: Providers, *, quiet: bool = False) -> None:
    """Read every resource that a provider serves. quiet: tell of no step, for a refresh before an update."""
    managed = [
        state
        for state in run.states.values()
        if state.custom
        and not (state.external or state.delete or state.pending_replacement or urns.is_provider(state.type))
        and state.urn in run.targets
        and state.urn not in run.excludes
    ]

    def read(state: ResourceState) -> None:
        try:
            with run.slot():
                step = _refresh_one(run, registry, state)
        except StoppedError:
            return
        except (ProviderError, EngineError) as error:
            run.broke(_step(state, Op.SAME), str(error))
            return
        if not quiet:
            run.ended(step)

    with ThreadPoolExecutor(run.options.parallel) as pool:
        list(pool.map(read, managed))


def _refresh_one(run: EngineRun, registry: Providers, state: ResourceState) -> Step:
    provider = registry.of(state.provider)
    found = provider.read(state.type, state.id, reveal(state.inputs))
    if found is None:
        run.note(drop=(state,))
        return _step(state, Op.DELETE)
    inputs = with_secrets(found.inputs, secret_places(state.inputs))
    fresh = state.showing(found.outputs, provider, inputs=inputs, id=found.id)
    if fresh != state:
        run.note(fresh)
    known, outputs = (agreed(each, state) for each in (found.inputs, found.outputs))
    result = provider.diff(state.type, found.id, reveal(known), reveal(outputs), reveal(state.inputs))
    if fresh == state or not result.detailed:
        return _step(state, Op.SAME)
    return Decision(op=Op.UPDATE, new=fresh, old=state, detailed=_seen_from_the_state(result)).step()


def _seen_from_the_state(result: DiffResult) -> dict[str, PropertyDiff]:
    """What an `up` would put back, turned round: what the cloud has changed.

    What only the service counts, such as an etag, is taken over and is no change, as the pulumi CLI has it
    (pulumi/pulumi, pkg/resource/deploy/step.go, RefreshStep, 2026-08).
    """
    turned: dict[str, Literal["add", "update", "delete"]] = {"add": "delete", "update": "update", "delete": "add"}
    return {path: PropertyDiff(turned[how.kind]) for path, how in result.detailed.items()}


def _step(state: ResourceState, op: Op) -> Step:
    return step_of(state, op, old=state, new=state.inputs if op is Op.SAME else None)


def settle(run: EngineRun, registry: Providers, *, forgetting: bool = False) -> None:
    """Settle every operation that was in flight; EngineError names each that cannot be.

    forgetting: take a create whose id nobody knows for one that made nothing, as a refresh does.
    """
    unsettled: list[str] = []
    for kind, state in list(run.snapshot.operations):
        was = f"{urns.name_of(state.urn)} ({state.type}) was being {_DOING[kind]} when the last run ended"
        try:
            said = _settle_create(run, registry, state) if kind == "creating" else _settle_change(run, registry, state)
        except ProviderError as error:
            unsettled.append(f"{was}, and cannot be looked up: {error}")
            continue
        if said is None and not forgetting:
            unsettled.append(
                f"{was}, and its id is not known: look for it in the cloud, delete it there if it exists, "
                f"then run `./tidepool refresh {urns.stack_of(state.urn)}`, which forgets it; up makes it anew"
            )
            continue
        run.say("warning", was + (said or ": forgotten, since its id is not known"), state.urn)
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


def _settle_change(run: EngineRun, registry: Providers, state: ResourceState) -> str:
    """Put into the state what has become of an update or a deletion; the rest of the sentence that says it."""
    known = run.states.get(state.key)
    if known is None or known.external:
        return ": nothing to do"
    provider = registry.of(known.provider)
    found = provider.read(known.type, known.id, reveal(known.inputs))
    if found is None:
        run.note(drop=(known,))
        return ": it does not exist any more"
    run.note(known.showing(found.outputs, provider))
    return ": it exists, and is planned again"


def _settle_create(run: EngineRun, registry: Providers, state: ResourceState) -> str | None:
    """The same of a create; None where only the API knows the id that it led to."""
    known = run.states.get(state.urn)
    provider = registry.of(state.provider)
    where = provider.locate(state.type, reveal(state.inputs))
    if where is None:
        return None
    if where in run.options.foreign:
        return f": {where} exists and is another's, so it is left alone"
    found = provider.read(state.type, where, reveal(state.inputs))
    if found is None:
        return ": it does not exist, and is created again"
    replaced = (known,) if known is not None and not known.pending_replacement else ()
    if any(each.id == found.id for each in replaced):
        return ": it is in the state already"
    adopted = state.showing(found.outputs, provider, id=found.id)
    run.note(adopted, *(replace(each, delete=True) for each in replaced))
    return f": it exists as {found.id}, and is adopted"
