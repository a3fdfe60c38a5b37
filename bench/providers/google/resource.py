"""What the table of types is made of: one `ResourceType` a type.

Owns the shapes that a type declares: identity, properties, labels, names, and how they lead to an id. Does not own any
type's row, which stand in `tables`, nor its calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

from bench.engine.provider import UNKNOWN
from bench.providers.google.fields import Fields, Given, JsonObject
from bench.providers.google.rest import Rest


def holes(path: str) -> list[str]:
    """The holes of a path such as `projects/{project}/locations/{zone}/nodes/{name}`."""
    return re.findall(r"\{(\w+)\}", path)


def is_known(path: str, values: Given) -> bool:
    """Whether every hole has a value already."""
    return all(values.get(hole) not in (None, "", UNKNOWN) for hole in holes(path))


@dataclass(frozen=True)
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
    qualified: what follows an id because of further values (a grant's condition). shortened: how an id is written.
    sought: where a resource is found as long as nobody knows the part of its id that the service chooses.
    replaced_in_turn: always deleted before its replacement is made.
    keeps_failed: whether a create that ends in an error, and left something, leaves the resource in the state.
    wanted: inputs with what follows from them and is compared.
    unsettled: outputs that nobody knows before the apply where an input differs, by that input.
    """

    token: str
    _: KW_ONLY
    noun: str
    identity: str
    fields: Fields
    calls: Rest
    schema_version: int = 0
    labelled: str = ""
    named: str = ""
    derived: Mapping[str, str] = field(default_factory=dict)
    foreseen: tuple[str, ...] = ()
    qualified: Callable[[JsonObject], str] = lambda _: ""
    shortened: Callable[[str], str] = lambda text: text
    sought: str = ""
    replaced_in_turn: bool = False
    keeps_failed: bool = False
    wanted: Callable[[Given], Given] = lambda inputs: inputs
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def holes(self) -> list[str]:
        return holes(self.identity)

    def id_of(self, values: JsonObject) -> str:
        """The id that these values lead to."""
        return self.shortened(self.identity.format_map(values)) + self.qualified(values)
