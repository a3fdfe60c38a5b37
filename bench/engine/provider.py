"""What the embedded engine asks of a provider.

Owns the protocol and its value types. A provider knows resource types and an API; it knows nothing of URNs'
meaning, state, secrets, steps or order, which are the engine's. Values are plain Python (dict, list, str, float,
int, bool, None) plus `UNKNOWN`; keys are camelCase as the provider's schema names them. Assets and archives never
reach a provider.

Token is the resource type (`gcp:tpu/v2Vm:V2Vm`). Every method may be called from several threads at once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""A value that is known only after an apply. Stands for any value, at any depth, in previews alone."""


class ProviderError(Exception):
    """A call failed. The text is shown to people as it stands: subject, what the API said, no secret.

    `gone` says that the API has no such resource: a delete is then done, an update is planned again as a create.
    """

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


class PartialError(ProviderError):
    """A create made the resource, or an update changed a part, and then failed; `outputs` is what the API has now.

    The state keeps a created one under its id with the reason, and the next run mends it.
    """

    def __init__(self, message: str, *, outputs: dict[str, Any], resource_id: str = "") -> None:
        super().__init__(message)
        self.resource_id = resource_id
        self.outputs = outputs


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """One input that cannot be. `path` is a property path (`networkConfig.subnetwork`), empty for the whole."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Inputs with defaults and names filled in, or what is wrong with them."""

    inputs: dict[str, Any]
    failures: tuple[CheckFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class PropertyDiff:
    """How one property differs; `replaces` where the API cannot change it in place."""

    kind: Literal["add", "update", "delete"]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class DiffResult:
    """Every property that differs, by path (`labels.owner`, `dataDisks[0].mode`); empty where nothing does.

    delete_before_replace: the old one must go before the new one can be made (a fixed name, for example).
    """

    detailed: Mapping[str, PropertyDiff] = field(default_factory=dict)
    delete_before_replace: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    """What a create made. `outputs` holds everything the resource shows, inputs included, `id` excluded."""

    id: str
    outputs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A resource as the API has it, in both shapes: `inputs` as a program would write it, `outputs` as it shows."""

    id: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


class CancelledError(ProviderError):
    """The provider saw `cancel` and stopped waiting. What it had begun stays in flight and is settled later."""


class Cancel(threading.Event):
    """Ctrl-C, by which a provider waits: `pressed` by the first, set itself by the second."""

    def __init__(self) -> None:
        super().__init__()
        self.pressed = threading.Event()

    def wait_to_begin(self, timeout: float | None = None) -> bool:
        """Wait before asking again for what was refused; True once Ctrl-C was pressed: nothing new is to be begun."""
        return self.pressed.wait(timeout)


class Provider(Protocol):
    """A package's resources, served. `package` names it in the state (`gcp`)."""

    @property
    def package(self) -> str: ...

    def configured(self, config: Mapping[str, Any], /) -> Provider:
        """This provider with the inputs of one `pulumi:providers:<package>` resource (`project`, `region`, ...).

        No API call. Called once for each provider resource; values are as a program gives them (bool, list, dict) or,
        for a default provider, as the stack file gives them.
        """
        ...

    def types(self) -> Container[str]:
        """The type tokens that are served. Any other is refused by name before anything is changed."""
        ...

    def check(self, token: str, inputs: dict[str, Any], /) -> CheckResult:
        """Fill in defaults and validate; no API call. `inputs` may hold UNKNOWN. No name is made up."""
        ...

    def diff(
        self,
        token: str,
        resource_id: str,
        old_inputs: dict[str, Any],
        old_outputs: dict[str, Any],
        new_inputs: dict[str, Any],
        /,
    ) -> DiffResult:
        """Compare; no API call. An UNKNOWN that takes the place of a value counts as a difference."""
        ...

    def create(self, token: str, inputs: dict[str, Any], timeout: float | None, cancel: Cancel, /) -> Created:
        """Make it and wait until it serves. `timeout` in seconds, None for the provider's own."""
        ...

    def read(self, token: str, resource_id: str, inputs: dict[str, Any], /) -> ReadResult | None:
        """What the API has now; None where it is gone. `inputs` are the last known ones."""
        ...

    def update(
        self,
        token: str,
        resource_id: str,
        old_outputs: dict[str, Any],
        new_inputs: dict[str, Any],
        cancel: Cancel,
        /,
    ) -> dict[str, Any]:
        """Change it in place and return the outputs."""
        ...

    def delete(self, token: str, resource_id: str, outputs: dict[str, Any], cancel: Cancel, /) -> None:
        """Remove it and wait until it is gone. One that is gone already is no error."""
        ...

    def locate(self, token: str, inputs: dict[str, Any], /) -> str | None:
        """The id that a create with these checked inputs leads to, None where only the API chooses it.

        Settles a create that was in flight when the engine died: what stands at this id is adopted, and where
        nothing does it is created again. Without one the engine stops rather than double it, until a refresh
        forgets it.
        """
        ...

    def preview_outputs(
        self, token: str, inputs: dict[str, Any], old_outputs: dict[str, Any] | None, /
    ) -> dict[str, Any]:
        """The outputs of a resource that is not made (`old_outputs` None) or not changed yet, for a preview.

        The inputs, whatever else follows from them, and of the old outputs those that an update keeps. A property
        left out counts as unknown.
        """
        ...

    def secret_outputs(self, token: str, /) -> frozenset[str]:
        """Output properties that are secret whatever the program says."""
        ...
