"""Outputs of a provider, made fit for the state: secret is what was in the inputs, and what is declared so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.local.engine.values import resealed, secret_places, with_secrets

if TYPE_CHECKING:
    from infra.local.engine.state import State


def taken_over(state: State, outputs: dict[str, Any], secret: frozenset[str]) -> dict[str, Any]:
    """A provider's plain outputs as the state of this resource holds them.

    secret: properties that the provider says are secret. Those that the program names (`additional_secret_outputs`)
    and whatever stands where an input is secret come on top.
    """
    names = secret.union(state.secret_outputs)
    places = [(name,) for name in sorted(names) if name in outputs]
    hidden = [*secret_places(state.inputs), *places]
    return resealed(with_secrets(outputs, hidden), state.outputs) if hidden else outputs
