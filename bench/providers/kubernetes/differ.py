"""Which properties of an object differ, and which of them need another object.

The state's object is cut down to what the program said of it before, so that what the cluster fills in is no
difference, while what others changed of the program's own fields is one.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.engine.provider import DiffResult, PropertyDiff
from bench.providers.kubernetes import manifests, quantities
from infra.model import property_paths as paths
from infra.model.facts import read_yaml

JsonObject = dict[str, Any]

_IDENTITY: Final = ("metadata.name", "metadata.namespace")
_EMPTY: Final = (False, "", None, [], {})


@cache
def _replacing() -> JsonObject:
    return read_yaml(Path(__file__).with_name("replacing.yaml").read_text(encoding="utf-8"))


def compare(token: str, old_inputs: JsonObject, old_outputs: JsonObject, new: JsonObject) -> DiffResult:
    before = pruned(manifests.live_of(old_outputs), old_inputs)
    api_version, kind = manifests.kind_of(token, new)
    fixed = [*_IDENTITY, *_replacing().get(api_version.rpartition("/")[0], {}).get(kind, ())]
    places = [paths.parse(each) for each in fixed]
    found = {
        paths.render(place): property_diff(was, now, replaces=any(place[: len(each)] == each for each in places))
        for place, was, now in paths.differences(before, new)
        if not _same(place, was, now)
    }
    replaced = any(each.replaces for each in found.values())
    return DiffResult(found, delete_before_replace=replaced and not found.keys() & {*_IDENTITY})


def property_diff(was: Any, now: Any, *, replaces: bool) -> PropertyDiff:
    return PropertyDiff("add" if was is paths.ABSENT else "delete" if now is paths.ABSENT else "update", replaces)


def pruned(live: Any, said: Any) -> Any:
    """Of what stands, what the program had said. The server leaves out what is false, 0 or empty: that stands too."""
    if isinstance(live, dict) and isinstance(said, dict):
        return {
            name: pruned(live[name], each) if name in live else each
            for name, each in said.items()
            if name in live or each in _EMPTY
        }
    if isinstance(live, list) and isinstance(said, list) and len(live) == len(said):
        return [pruned(one, other) for one, other in zip(live, said, strict=True)]
    return live


def _same(place: paths.Place, was: Any, now: Any) -> bool:
    """Whether two spellings are of one value: quantities (`1000m` is 1), and nothing said in two ways."""
    if was in (None, {}, []) and now in (None, {}, []):
        return True
    return bool(quantities.AMOUNTS.intersection(place)) and quantities.canonical(was) == quantities.canonical(now)
