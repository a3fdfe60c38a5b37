"""The engine that runs in this process, against the local cloud.

Owns where its program, configuration, state and provider come from. What an operation does is `infra.local.engine`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.engines.passphrase import passphrase
from infra.engines.protocol import PROJECT, EngineError, EngineName, Listener, Request
from infra.local.engine import errors
from infra.local.engine.backend import Backend
from infra.local.engine.engine import Engine
from infra.local.engine.run import Options
from infra.local.provider.google import GoogleProvider
from infra.model.stack import pulumi_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.local.engine.provider import Provider
    from infra.model.plan import Plan


class EmbeddedEngine:
    """`infra.engines.Engine` on the embedded engine."""

    name = EngineName.LOCAL

    def __init__(self, request: Request, *, environ: Mapping[str, str] = os.environ) -> None:
        self._request = request
        self._environ = environ

    def preview(self, listener: Listener | None = None) -> Plan:
        return self._asked(lambda engine: engine.preview(self._options(), listener))

    def up(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        options = self._options(previewed=planned is not None)
        return self._asked(lambda engine: engine.up(options, listener))

    def refresh(self, listener: Listener | None = None) -> Plan:
        return self._asked(lambda engine: engine.refresh(self._options(), listener))

    def destroy(self, listener: Listener | None = None) -> Plan:
        return self._asked(lambda engine: engine.destroy(self._options(), listener))

    def outputs(self) -> Mapping[str, Any]:
        return self._asked(lambda engine: engine.outputs())

    def _asked(self, operation: Callable[[Engine], Any]) -> Any:
        try:
            return operation(self._engine())
        except errors.EngineError as error:
            raise EngineError(str(error)) from None

    def _engine(self) -> Engine:
        request = self._request
        return Engine(
            backend=self._backend(),
            project=PROJECT,
            stack=request.stack,
            config=self._config(),
            program=partial(_program, request.root),
            providers=self._providers(),
            passphrase=lambda: passphrase(request.home, self._environ),
            cloud=request.cloud.value,
        )

    def _backend(self) -> Backend:
        url = self._environ.get("PULUMI_BACKEND_URL")
        return Backend.from_url(url) if url else Backend(self._request.home / "state" / self._request.cloud.value)

    def _config(self) -> Mapping[str, str]:
        path = Path("stacks") / f"Pulumi.{self._request.stack}.yaml"
        return pulumi_values((self._request.root / path).read_text(encoding="utf-8"), source=str(path))

    def _providers(self) -> dict[str, Provider]:
        """None where no cloud is to be asked anything, as for outputs."""
        url = self._request.cloud_url
        return {} if url is None else {"gcp": GoogleProvider(url, connections=self._request.parallel)}

    def _options(self, *, previewed: bool = False) -> Options:
        request = self._request
        return Options(
            parallel=request.parallel,
            targets=request.targets,
            continue_on_error=request.continue_on_error,
            refresh=request.refresh,
            exclude_protected=request.exclude_protected,
            previewed=previewed,
        )


def _program(root: Path) -> None:
    """The program that the pulumi CLI runs from `infra/__main__.py`; imported when first run, for it takes a second."""
    from infra.program import run

    run(root)
