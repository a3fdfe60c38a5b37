"""A plan that a preview saved, and whether what would be done now is still that.

Owns the file: what `preview --json` prints, and a digest of each changed resource's inputs, for a plan does not tell
those of a new resource.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from infra.model.plan import UNCHANGING, Op, Step
from infra.operations.errors import Failure
from infra.operations.stacks.preview import Planned

_ALIKE: Final = {Op.ADOPT: Op.CREATE}
"""Which of both it is depends on whether the controller was there first."""


def save(planned: Planned, path: Path) -> None:
    """Write a plan. Raises Failure where it is stopped, or the file cannot be written."""
    if planned.stopped:
        raise Failure(f"{path} was not written: this plan cannot be applied")
    try:
        path.write_text(json.dumps(_document(planned), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror or error}") from None


def insist_on(path: Path, planned: Planned) -> None:
    """Raises Failure where a plan is another than the one that was saved, with each resource that differs.

    Resources, what happens to them, and the values of what differs are compared; those that stay as they are, not.
    """
    saved, now = _read(path), _document(planned)
    stack = planned.plan.stack
    for key in ("stack", "cloud"):
        if saved.get(key) != now[key]:
            raise Failure(
                f"nothing was changed: {path} is a plan of {key} {saved.get(key)!r}, and this is {now[key]!r}"
            )
    if differing := list(_differing(_steps(saved, path), _steps(now, path))):
        raise Failure(
            f"nothing was changed: what up would do to {stack} now is not what {path} says: {'; '.join(differing)}. "
            f"Save it anew: ./tidepool preview {stack} --save {path}"
        )


def _document(planned: Planned) -> dict[str, Any]:
    return planned.to_json() | {"inputs": {step.urn: _digest(step) for step in planned.plan.steps if step.changes}}


def _digest(step: Step) -> str:
    text = json.dumps(step.new_inputs, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _differing(saved: Mapping[str, _Said], now: Mapping[str, _Said]) -> Iterator[str]:
    for urn in sorted({*saved, *now}):
        name, was, becomes = urn.rpartition("::")[2], saved.get(urn), now.get(urn)
        if was == becomes:
            continue
        if was is None or becomes is None:
            yield f"{name} ({becomes.op}) is not in it" if becomes else f"{name} is as declared by now"
        elif was.op != becomes.op:
            yield f"{name} ({was.op} then, {becomes.op} now)"
        else:
            yield f"{name} ({was.op}) with other values"


class _Said(NamedTuple):
    """What a plan says of one resource. inputs: digest of them."""

    op: Op
    diff: Mapping[str, Any]
    inputs: str


def _steps(document: Mapping[str, Any], path: Path) -> dict[str, _Said]:
    """What changes, by URN; values as JSON has them."""
    try:
        plain = json.loads(json.dumps(document))
        return {
            step["urn"]: _Said(_ALIKE.get(Op(step["op"]), Op(step["op"])), step["diff"], plain["inputs"][step["urn"]])
            for step in plain["steps"]
            if Op(step["op"]) not in UNCHANGING
        }
    except (KeyError, TypeError, ValueError):
        raise _unfit(path) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise _unfit(path) from None
    if not isinstance(found, dict):
        raise _unfit(path)
    return found


def _unfit(path: Path) -> Failure:
    return Failure(f"nothing was changed: {path} is no saved plan; `./tidepool preview STACK --save {path}` writes one")
