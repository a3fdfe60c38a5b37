"""What the tool asks of the bench (`infra.engines.bench.Bench`): each is imported when it is first asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.operations.workspace import workspace

if TYPE_CHECKING:
    from bench.embedded import EmbeddedEngine
    from bench.operations.broker import LocalGuests
    from infra.engines.protocol import EngineRequest
    from infra.fleet.images.oci import Reader
    from infra.fleet.place import FleetPlace
    from infra.model.clock import Clock
    from infra.model.plan import Diagnostic
    from infra.model.schema import StackConfig
    from infra.preview.toned import Tone


def engine(request: EngineRequest) -> EmbeddedEngine:
    from bench.embedded import EmbeddedEngine

    return EmbeddedEngine(request)


def make_readable(
    backend: str | None, stack: str, passphrase: str, settings: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    from bench.filestate import readable

    return readable(backend, stack, passphrase, settings)


def passphrase_salt(backend: str | None, stack: str) -> str | None:
    from bench.filestate import salt

    return salt(backend, stack)


def cloud_url(say: Callable[[str, Tone], None]) -> str:
    from bench.operations.cloud import local_cloud

    return local_cloud(workspace(), say)


def clock(url: str | None) -> Clock:
    from bench.operations.cloud import cloud_clock, home_clock

    return cloud_clock(url) if url else home_clock()


def status() -> dict[str, Any]:
    from bench.cloud import daemon

    return daemon.status(workspace().home)


def guests(url: str) -> LocalGuests:
    from bench.operations.broker import LocalGuests

    return LocalGuests(home=workspace().home, url=url)


def place(config: StackConfig, url: str) -> FleetPlace:
    from bench.operations.github import local_place

    return local_place(config, url)


def broker_settings(stack: str, url: str, audience: str) -> dict[str, str]:
    from bench.operations.broker import local_settings

    return local_settings(stack, url, audience)


def registry(url: str, say: Callable[[str, Tone], None]) -> Reader:
    from bench.operations.cloud import stand_in

    return stand_in(url, say)


def use_api_server(kubeconfig: Path) -> str:
    from bench.operations.kubernetes import use

    return use(kubeconfig, "")


def has_api_server(url: str, cluster: str) -> bool:
    from bench.cloud.control import Control

    return Control(url).told_control_plane(cluster) is not None


def build_image(lab: Any, image: Any, **wanted: Any) -> tuple[str, tuple[Any, ...]]:
    from bench.operations.images import build

    return build(lab, image, **wanted)
