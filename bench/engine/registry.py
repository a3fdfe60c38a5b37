"""Which provider serves a resource.

Owns default providers, provider resources, and references `<urn>::<id>`. Does not own what a provider does.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.engine.run import now
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
        self._lock = threading.Lock()
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
        return self.default(package, goal.version)

    def of(self, reference: str) -> Provider:
        """The configured provider behind a reference."""
        with self._lock:
            known = self._configured.get(reference)
        if known is not None:
            return known
        urn, _, _ = reference.rpartition("::")
        state = self._run.states.get(urn)
        if state is None:
            raise EngineError(f"the state refers to a provider {urn} that it does not have: restore a backup")
        return self.configure(reference, state)

    def configure(self, reference: str, state: ResourceState) -> Provider:
        """Make the provider of a provider resource ready for use."""
        config = {name: value for name, value in reveal(state.inputs).items() if name != "version"}
        provider = self.served(urns.package_of(state.type), state.urn).configured(config)
        with self._lock:
            return self._configured.setdefault(reference, provider)

    def default(self, package: str, version: str) -> str:
        """The reference of a package's default provider of a version, registered on first use."""
        name = f"default_{version.translate(_DOTS)}" if version else "default"
        with self._lock:
            known = self._defaults.get(f"{package} {name}")
            if known is not None:
                return known
            token = urns.PROVIDER_PREFIX + package
            urn = urns.make(self._stack, self._project, "", token, name)
            reference = self._register(urn, token, self._inputs(package, version))
            self._defaults[f"{package} {name}"] = reference
            return reference

    def _inputs(self, package: str, version: str) -> dict[str, Any]:
        prefix = f"{package}:"
        inputs: dict[str, Any] = {
            key.removeprefix(prefix): value for key, value in self._config.items() if key.startswith(prefix)
        }
        return inputs | ({"version": version} if version else {})

    @staticmethod
    def fresh_id() -> str:
        """The id of a new provider resource."""
        return str(uuid.uuid4())

    def _register(self, urn: str, token: str, inputs: dict[str, Any]) -> str:
        """A default provider is the engine's own affair: no step tells of it, as with the official CLI."""
        old = self._run.olds.get(urn)
        self._run.seen.add(urn)
        if old is not None and _settings(old.inputs) == inputs:
            return f"{urn}::{old.id}"
        time = now()
        state = ResourceState(
            urn=urn,
            type=token,
            custom=True,
            id=old.id if old else self.fresh_id(),
            inputs=inputs,
            outputs=inputs,
            created=old.created if old else time,
            modified=time,
            other=old.other if old else {},
        )
        self._run.note(state)
        return f"{urn}::{state.id}"


def _settings(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs without what the official engine notes for itself (`__internal`)."""
    return {name: value for name, value in inputs.items() if not name.startswith("__")}


_DOTS = str.maketrans({".": "_", "-": "_", "+": "_"})
