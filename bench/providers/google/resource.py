"""What the table of types is made of: one `ResourceType` a type, and the calls that it makes.

Owns the shapes that a type declares (identity, properties, labels, names) and the interface between the provider and a
type's calls. Does not own any type's row, which stand in `tables`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, Protocol

from bench.engine.provider import UNKNOWN
from bench.providers.google.fields import Field
from bench.providers.google.transport import ApiError, Deadline, Media, RestApi

_HOLE = re.compile(r"\{(\w+)\}")

Values = dict[str, Any]
"""Everything known of one resource: inputs, what the provider's settings add, what follows from them."""


@dataclass(frozen=True)
class Path:
    """A path with holes, such as `projects/{project}/locations/{zone}/nodes/{name}`."""

    template: str

    @cached_property
    def holes(self) -> tuple[str, ...]:
        return tuple(_HOLE.findall(self.template))

    def known(self, values: Mapping[str, Any]) -> bool:
        """Whether every hole has a value already."""
        return all(values.get(hole) not in (None, "", UNKNOWN) for hole in self.holes)

    def fill(self, values: Mapping[str, Any]) -> str:
        return self.template.format_map(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCall:
    """One action on one resource: where it is sent, how long it may take, and what is known of the resource.

    old: the outputs before an update. changed: names of the top-level properties that differ.
    """

    api: RestApi
    deadline: Deadline
    values: Values
    body: dict[str, Any] = field(default_factory=dict)
    old: Values = field(default_factory=dict)
    changed: frozenset[str] = frozenset()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        media: Media | None = None,
    ) -> dict[str, Any]:
        return self.api.call(method, path, self.deadline, query=query, body=body, media=media)

    def find(
        self, path: str, *, method: str = "GET", query: Mapping[str, str] | None = None, body: Any = None
    ) -> dict[str, Any] | None:
        """What the API answers, None where it knows no such thing (404)."""
        try:
            return self.send(method, path, query=query, body=body)
        except ApiError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return None


class Calls(Protocol):
    """The calls that a type's resources take.

    All raise ApiError, OperationFailedError, OperationTimeoutError and CancelledError.
    """

    def create(self, call: ResourceCall) -> None:
        """Make it and wait."""
        ...

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        """Its body as the API has it, None where it is gone."""
        ...

    def update(self, call: ResourceCall) -> None:
        """Change in place what `call.changed` names, and wait."""
        ...

    def delete(self, call: ResourceCall) -> None:
        """Remove it and wait; an ApiError 404 counts as removed."""
        ...


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One type of resource.

    token: Pulumi's. noun: what Google's provider calls it in messages. identity: the id, from values.
    fields: inputs and computed outputs. labelled: the property, and the field on the wire, of the labels that are kept
        in three views; empty where there are none.
    named: the property that has its name; empty where none is a name alone.
    schema_version: how often the official provider has changed the form of such a state, which says so in `__meta`;
        a state that does not is taken for the oldest form, and upgraded.
    derived: outputs that follow from given values (an account's email). foreseen: those of them that a preview of a
        create knows already; the others are the service's to say.
    tidied: how an input that has several spellings stands in paths (`bucket` without `b/`).
    qualified: what follows an id because of further values (a grant's condition). shortened: how an id is written.
    assigned: holes of the identity that the service fills in, and where a body has them. sought: where such a resource
        is found as long as nobody knows them.
    replaced_in_turn: always deleted before its replacement is made.
    keeps_failed: whether a create that ends in an error leaves the resource in the state.
    unsettled: outputs that nobody knows before the apply where an input differs, by that input.
    """

    token: str
    _: KW_ONLY
    noun: str
    identity: Path
    fields: Mapping[str, Field]
    calls: Calls
    schema_version: int = 0
    labelled: str = ""
    named: str = ""
    derived: Mapping[str, Path] = field(default_factory=dict)
    foreseen: frozenset[str] = frozenset()
    tidied: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    qualified: Callable[[Values], str] | None = None
    shortened: Callable[[str], str] = lambda text: text
    assigned: Mapping[str, str] = field(default_factory=dict)
    sought: Path | None = None
    replaced_in_turn: bool = False
    keeps_failed: bool = False
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def id_of(self, values: Values) -> str:
        """The id that these values lead to."""
        return self.shortened(self.identity.fill(values)) + (self.qualified(values) if self.qualified else "")
