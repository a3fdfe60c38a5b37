"""Serving the token broker of a stack: on Google Cloud by its settings, or beside the local cloud with made-up ones.

Owns where its settings come from. What it decides is `infra.fleet.broker`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.engines.bench import bench
from infra.fleet.broker import settings
from infra.fleet.broker.audit import GRANTED, line
from infra.fleet.broker.serve import NotListeningError, serve
from infra.fleet.broker.settings import BrokerSettings
from infra.model.clock import Clock, machine_clock  # noqa: TID251 - one of the two clouds is Google's
from infra.operations.declared.stack_file import declared
from infra.operations.errors import Refusal
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import reached
from infra.tools import collector

__all__ = ("Broker", "broker", "line", "said")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker that is ready to be served. cloud: whose VMs ask it."""

    settings: BrokerSettings
    cloud: CloudName
    clock: Clock

    def serve(self, tell: Callable[[dict[str, Any]], None], *, host: str, port: int) -> None:
        """Serve it until SIGTERM or SIGINT. tell: gets every decision. Raises Refusal where nothing can listen."""
        collector.as_usual()
        try:
            serve(self.settings, tell, host=host, port=port, clock=self.clock)
        except NotListeningError as error:
            raise Refusal(str(error)) from None


def broker(
    stack: str,
    port: int,
    cloud: CloudName | None = None,
    teller: Teller = SILENT,
    environ: Mapping[str, str] = os.environ,
) -> Broker:
    """The broker of a stack. environ: its settings, as docs/broker.md has them; what of the stack it leaves out is in
    the stack file.

    cloud: the local one where the environment names no audience, if None. Raises ConfigError with all that is wrong.
    """
    if cloud is CloudName.LOCAL or (cloud is None and settings.AUDIENCE not in environ):
        return _beside_local_cloud(stack, port, teller)
    if not (environ.get(settings.PROJECT) and environ.get(settings.BUCKET)):
        config = declared(stack).config
        environ = {settings.PROJECT: config.project, settings.BUCKET: config.bucket.name, **environ}
    return Broker(settings=settings.read(stack, environ), cloud=CloudName.GOOGLE, clock=machine_clock)


def _beside_local_cloud(stack: str, port: int, teller: Teller) -> Broker:
    url = reached(CloudName.LOCAL, teller) or ""
    made_up = bench().broker_settings(stack, url, f"http://127.0.0.1:{port}")
    return Broker(settings=settings.read(stack, made_up), cloud=CloudName.LOCAL, clock=bench().clock(url))


def said(facts: Mapping[str, Any]) -> str:
    """One decision, as its line of the audit has it, for people."""
    why = facts.get("runner") if facts["outcome"] == GRANTED else facts.get("detail", "")
    parts = (facts["time"][:19], facts["outcome"], facts["status"], facts["reason"], facts.get("vm", "-"), why)
    return " ".join(str(part) for part in parts if part)
