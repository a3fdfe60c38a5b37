"""Which provider serves a resource.

Owns default providers, provider resources, and references `<urn>::<id>`. Does not own what a provider does.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.engine.state import ResourceState
from bench.engine.values import RefusedError
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.goal import Goal
    from bench.engine.provider import Provider
    from bench.engine.run import EngineRun

BUILTIN = "pulumi"
"""The package that the engine itself serves: stack references."""


class Providers:
    """The providers of one operation. `packages` are those that the caller handed in, by name."""

    def __init__(
        self, run: EngineRun, packages: Mapping[str, Provider], config: Mapping[str, str], stack: str, project: str
    ) -> None:
        self._run = run
        self._packages = packages
        self._config = config
        self._stack = stack
        self._project = project
        self._configured: dict[str, Provider] = {}
        self._defaults: dict[str, str] = {}

    def served(self, package: str, urn: str) -> Provider:
        """The provider of a package; RefusedError names one that is not there."""
        provider = self._packages.get(package)
        if provider is None:
            raise RefusedError(
                f"{urn} needs the provider {package}, which the embedded engine does not have "
                f"(it has {', '.join(sorted(self._packages)) or 'none'}): use --engine pulumi"
            )
        return provider

    def reference_for(self, goal: Goal) -> str:
        """The provider reference of a resource: its own, else that of the default provider, made where it is new."""
        if goal.provider:
            return goal.provider
        package = urns.package_of(goal.type)
        if package != BUILTIN:
            self.served(package, goal.urn)
        name = f"default_{goal.version.translate(_DOTS)}" if goal.version else "default"
        urn = urns.make(self._stack, self._project, "", urns.PROVIDER_PREFIX + package, name)
        with self._run.lock:
            return self._defaults.get(urn) or self._defaults.setdefault(urn, self._default(urn, package, goal.version))

    def of(self, reference: str) -> Provider:
        """The configured provider behind a reference."""
        if (known := self._configured.get(reference)) is not None:
            return known
        urn, _, _ = reference.rpartition("::")
        if (state := self._run.states.get(urn)) is None:
            raise EngineError(f"the state refers to a provider {urn} that it does not have: restore a backup")
        return self.configure(reference, state)

    def configure(self, reference: str, state: ResourceState) -> Provider:
        """Make the provider of a provider resource ready for use."""
        config = {name: value for name, value in reveal(state.inputs).items() if name != "version"}
        provider = self.served(urns.package_of(state.type), state.urn).configured(config)
        return self._configured.setdefault(reference, provider)

    def _default(self, urn: str, package: str, version: str) -> str:
        """A default provider is the engine's own affair: no step tells of it, as with the official CLI.

        What the official engine notes in its inputs for itself (`__internal`) is no difference.
        """
        prefix, old = f"{package}:", self._run.olds.get(urn)
        inputs: dict[str, Any] = {
            key.removeprefix(prefix): value for key, value in self._config.items() if key.startswith(prefix)
        } | ({"version": version} if version else {})
        self._run.seen.add(urn)
        if old and {name: value for name, value in old.inputs.items() if not name.startswith("__")} == inputs:
            return f"{urn}::{old.id}"
        new = old or ResourceState(urn=urn, type=urns.PROVIDER_PREFIX + package, custom=True, id=fresh_id())
        self._run.note(replace(new, inputs=inputs, outputs=inputs))
        return f"{urn}::{new.id}"


def fresh_id() -> str:
    """The id of a new provider resource."""
    return str(uuid.uuid4())


_DOTS = str.maketrans({".": "_", "-": "_", "+": "_"})
