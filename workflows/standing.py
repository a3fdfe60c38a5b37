"""What stands in a checkout against what is generated: missing, stale, edited by hand, without a source, stray. Pure.

Owns the comparison and its words. Leaves what is generated to `workflows.outputs`, reading files to the commands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from workflows.dump import is_sealed, unsealed
from workflows.stale import differences

GENERATED: Final = "# Generated "
"""How every generated file begins."""


class State(StrEnum):
    MISSING = "missing"
    STALE = "stale"
    EDITED = "edited by hand"
    ORPHAN = "without a source"
    STRAY = "stray"


@dataclass(frozen=True, slots=True, order=True)
class Off:
    """A file that is not as it should be. why: what differs, or what is the matter. mend: the one command."""

    path: str
    state: State
    why: tuple[str, ...]
    mend: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"state": self.state.value, "why": list(self.why)}


def compare(
    wanted: Mapping[str, str], stands: Mapping[str, str], *, write: str, known: Collection[str] = ()
) -> tuple[Off, ...]:
    """Every file that is off, by path.

    stands: every file of the folders that generated ones are in. known: files by hand that belong there. write: the
    command that writes what is wanted, and removes what has no source.
    """
    return tuple(sorted(_off(wanted, stands, write, known)))


def _off(wanted: Mapping[str, str], stands: Mapping[str, str], write: str, known: Collection[str]) -> Iterator[Off]:
    for path, text in wanted.items():
        if path not in stands:
            yield Off(path, State.MISSING, ("it is generated, and not there",), write)
        elif stands[path] != text:
            yield Off(path, *_differing(stands[path], text), write)
    for path, text in stands.items():
        if path in wanted or path in known:
            continue
        if text.startswith(GENERATED):
            edited = " (and it was edited by hand)" if _is_edited(text) else ""
            yield Off(path, State.ORPHAN, (f"nothing makes it any more{edited}",), write)
        else:
            said = "it is neither generated nor kept: no specification names it"
            yield Off(path, State.STRAY, (said,), f"git rm {path}, or name it under kept")


def _differing(stands: str, text: str) -> tuple[State, tuple[str, ...]]:
    if not stands.startswith(GENERATED):
        return State.EDITED, ("a file by hand stands in its place",)
    why = tuple(differences(unsealed(stands), unsealed(text)))
    return (State.EDITED if _is_edited(stands) else State.STALE), why


def _is_edited(text: str) -> bool:
    """Whether somebody changed it after it was generated; what has no digest is not known to be."""
    return unsealed(text) != text and not is_sealed(text)
