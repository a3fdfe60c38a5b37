"""The bench, found by name: the embedded engine and the local cloud, for a machine without Google Cloud.

Owns the one import of the package `bench`, and what the tool asks of it. Nothing that is deployed has that package, and
an operation on Google Cloud does not load it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from infra.model.clock import Clock
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic

if TYPE_CHECKING:
    from infra.engines.protocol import Engine, EngineRequest
    from infra.fleet.images.oci import Reader
    from infra.fleet.place import FleetPlace
    from infra.model.schema import StackConfig
    from infra.preview.toned import Tone

ENTRY: Final = "bench.tool"
"""The module that is a `Bench`."""


class Guests(Protocol):
    """The guests of a local cloud's VMs: they live while a command lets them."""

    def settle(self) -> object:
        """Let every guest do what it had time for."""

    def settle_runs(self) -> None:
        """The same for VMs of one run alone."""

    def advance(self, seconds: float) -> None:
        """Move the cloud's clock, and let the guests live meanwhile."""


class Bench(Protocol):
    """What the bench offers the tool. `url` is the root of a local cloud, without a slash at the end."""

    def engine(self, request: EngineRequest) -> Engine:
        """The embedded engine."""
        ...

    def make_readable(
        self, backend: str | None, stack: str, passphrase: str, settings: Mapping[str, str]
    ) -> tuple[Diagnostic, ...]:
        """Make a state in files, which the embedded engine may have written, fit for the pulumi CLI; what was done.

        settings: what the state's gcp providers must say, {} where they are to be left as they are.
        """
        ...

    def passphrase_salt(self, backend: str | None, stack: str) -> str | None:
        """The passphrase salt in a state in files; None where there is none."""
        ...

    def cloud_url(self, say: Callable[[str, Tone], None]) -> str:
        """Root URL of this home's local cloud, started where it does not run."""
        ...

    def clock(self, url: str | None) -> Clock:
        """The time of a local cloud; None for that of this home, which need not run."""
        ...

    def status(self) -> Mapping[str, Any]:
        """Whether this home's local cloud runs, where, and what it holds."""
        ...

    def guests(self, url: str) -> Guests:
        """The guests of a local cloud's VMs."""
        ...

    def place(self, config: StackConfig, url: str) -> FleetPlace:
        """Where the fleet of a stack is, with the GitHub beside the local cloud, which then knows what it serves."""
        ...

    def broker_settings(self, stack: str, url: str, audience: str) -> dict[str, str]:
        """Settings of a token broker beside a local cloud."""
        ...

    def registry(self, url: str, say: Callable[[str, Tone], None]) -> Reader:
        """The registry that stands for all that are not Artifact Registry."""
        ...

    def use_api_server(self, kubeconfig: Path) -> str:
        """Let every cluster have the API server of a kubeconfig; its address. Raises Refusal."""
        ...

    def has_api_server(self, url: str, cluster: str) -> bool:
        """Whether `projects/P/locations/L/clusters/C` was given one."""
        ...

    def build_image(
        self,
        lab: Any,
        image: Any,
        *,
        context: Path | None,
        given: Mapping[str, str],
        cached: bool,
        listen: Callable[[str, str], None],
    ) -> tuple[str, tuple[Any, ...]]:
        """Build an image on this machine, after its parents; the builder's name and what came of each."""
        ...


def bench() -> Bench:
    """The bench of this installation. Raises EngineError where it has none."""
    try:
        return cast("Bench", import_module(ENTRY))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != ENTRY.partition(".")[0]:
            raise
        raise EngineError(
            "the local cloud: the package `bench` is not installed here. Fix: work in a whole checkout, or say "
            "--engine pulumi --cloud google"
        ) from None
