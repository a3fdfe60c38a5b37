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
from bench.engine.run import StoppedError, Stopwatch, now
from bench.engine.values import secret_places, with_secrets
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Step
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.journal import OperationType
    from bench.engine.registry import Providers
    from bench.engine.run import EngineRun
    from bench.engine.state import ResourceState


def refresh(run: EngineRun, registry: Providers, *, quiet: bool = False) -> None:
    """Read every resource that a provider serves. quiet: record only what differs, for a refresh before an update."""
    managed = [
        state
        for state in run.states.values()
        if state.custom
        and not state.external
        and not state.delete
        and not state.pending_replacement
        and not urns.is_provider(state.type)
        and state.urn in run.targets
        and state.urn not in run.excludes
    ]
    with ThreadPoolExecutor(run.options.parallel, thread_name_prefix="refresh") as pool:
        for _ in pool.map(lambda state: _guarded(run, registry, state, quiet=quiet), managed):
            pass


def _guarded(run: EngineRun, registry: Providers, state: ResourceState, *, quiet: bool) -> None:
    clock = Stopwatch()
    try:
        with run.slot():
            _refresh_one(run, registry, state, clock, quiet=quiet)
    except StoppedError:
        return
    except (ProviderError, EngineError) as error:
        run.broke(_step(state, Op.SAME), str(error), clock.seconds)


def _refresh_one(run: EngineRun, registry: Providers, state: ResourceState, clock: Stopwatch, *, quiet: bool) -> None:
    provider = registry.of(state.provider)
    found = provider.read(state.type, state.id, reveal(state.inputs))
    if found is None:
        run.note(drop=(state,))
        if not quiet:
            run.ended(_step(state, Op.DELETE), clock.seconds)
        return
    inputs = with_secrets(found.inputs, secret_places(state.inputs))
    fresh = state.showing(found.outputs, provider, inputs=inputs, id=found.id)
    if fresh == state:
        if not quiet:
            run.ended(_step(state, Op.SAME), clock.seconds)
        return
    run.note(replace(fresh, modified=now()))
    if quiet:
        return
    inputs, outputs = (agreed(each, state) for each in (found.inputs, found.outputs))
    detailed = _seen_from_the_state(
        provider.diff(state.type, found.id, reveal(inputs), reveal(outputs), reveal(state.inputs))
    )
    step = Decision(op=Op.UPDATE, new=fresh, old=state, detailed=detailed).step()
    run.ended(step if detailed else _step(state, Op.SAME), clock.seconds)


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
            said = _settle(run, registry, kind, state)
        except _UnknownIdError:
            if not forgetting:
                unsettled.append(
                    f"{was}, and its id is not known: look for it in the cloud, delete it there if it exists, "
                    f"then run `./tidepool refresh {urns.stack_of(state.urn)}`, which forgets it; up makes it anew"
                )
                continue
            said = ": forgotten, since its id is not known"
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


class _UnknownIdError(Exception):
    """Only the API knows the id that a create led to."""


def _settle(run: EngineRun, registry: Providers, kind: OperationType, state: ResourceState) -> str:
    """Put into the state what has become of an operation; the rest of the sentence that says it."""
    if kind == "creating":
        return _settle_create(run, registry, state)
    if kind in ("updating", "deleting"):
        return _settle_change(run, registry, state)
    return ": nothing to do"


def _settle_change(run: EngineRun, registry: Providers, state: ResourceState) -> str:
    known = run.states.get(state.key)
    if known is None:
        return "; the state no longer has it"
    provider = registry.of(known.provider)
    found = provider.read(known.type, known.id, reveal(known.inputs))
    if found is None:
        run.note(drop=(known,))
        return ": it does not exist any more"
    run.note(known.showing(found.outputs, provider, modified=now()))
    return ": it exists, and is planned again"


def _settle_create(run: EngineRun, registry: Providers, state: ResourceState) -> str:
    known = run.states.get(state.urn)
    provider = registry.of(state.provider)
    where = provider.locate(state.type, reveal(state.inputs))
    if where is None:
        raise _UnknownIdError
    if where in run.options.foreign:
        return f": {where} exists and is another's, so it is left alone"
    found = provider.read(state.type, where, reveal(state.inputs))
    if found is None:
        return ": it does not exist, and is created again"
    if known is not None and known.id == found.id and not known.pending_replacement:
        return ": it is in the state already"
    adopted = state.showing(found.outputs, provider, id=found.id, created=now(), modified=now())
    before = (replace(known, delete=True),) if known is not None and not known.pending_replacement else ()
    run.note(adopted, *before)
    return f": it exists as {found.id}, and is adopted"
