"""TPU VMs as gcloud tells of them: which stand in which zone, and what a test wants to go wrong.

`vms.py HOME VERB ARGUMENT...` is what `standin.sh` calls, dozens of times a test: so it imports next to nothing.

`vms` in HOME is the state, `plan` what goes wrong:
  create      by zone, one word a try: ok, stockout (nothing is made), lost (made, and the answer is not), hang (made,
              and gcloud does not return); what is not said is ok
  delete      how many deletions are refused; list: how many listings
  states      what describe says, in turn, the last for ever; attributes: what a VM says of itself, likewise
Both are written by `marshal`, between two processes of one Python.
"""

# ruff: noqa: PTH110, PTH123 - pathlib takes longer to import than all of this to run
from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(home: str, verb: str, *argv: str) -> None:
    said = answer(home, verb, argv)
    sys.stdout.write(said.get("out", ""))
    sys.stderr.write(said.get("err", ""))
    sys.stdout.flush()
    if said.get("blocks"):
        with open(f"{home}/reached", "w") as reached:
            reached.write("reached")
        open(f"{home}/never").close()
    sys.exit(said.get("code", 0))


def answer(home: str, verb: str, argv: tuple[str, ...]) -> dict[str, Any]:
    options = dict(word.removeprefix("--").partition("=")[::2] for word in argv if word.startswith("--"))
    names = [word for word in argv if not word.startswith("--")]
    state, plan = read(f"{home}/vms"), read(f"{home}/plan")
    zone = state.setdefault("zones", {}).setdefault(options["zone"], {})
    done = _VERBS[verb](state, plan, zone, names, options)
    with open(f"{home}/vms", "wb") as file:
        marshal.dump(state, file)
    return done


def read(path: str) -> dict[str, Any]:
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        return marshal.load(file)


def text(path: str) -> str:
    with open(path) as file:
        return file.read()


def turn(state: dict[str, Any], key: str) -> int:
    """How often it was asked before."""
    turns = state.setdefault("turns", {})
    turns[key] = turns.get(key, 0) + 1
    return turns[key] - 1


def in_turn(state: dict[str, Any], key: str, given: list[Any], otherwise: Any) -> Any:
    """What is given for this time; the last for ever."""
    return given[min(turn(state, key), len(given) - 1)] if given else otherwise


def create(state: Any, plan: Any, zone: Any, names: list[str], options: dict[str, str]) -> dict[str, Any]:
    wanted = plan.get("create", {}).get(options["zone"], [])
    at = turn(state, f"create {options['zone']}")
    fate = wanted[at] if at < len(wanted) else "ok"
    if fate == "stockout":
        return {"code": 1, "err": "ERROR: There is no more capacity in the zone\n"}
    labels = dict(pair.split("=", 1) for pair in options["labels"].split(","))
    files = dict(pair.split("=", 1) for pair in options["metadata-from-file"].split(","))
    zone[names[0]] = {"labels": labels, "metadata": {key: text(path) for key, path in files.items()}}
    return {"ok": {}, "lost": {"code": 1, "err": "ERROR: Internal error\n"}, "hang": {"blocks": True}}[fate]


def delete(state: Any, plan: Any, zone: Any, names: list[str], _options: dict[str, str]) -> dict[str, Any]:
    if names[0] not in zone:
        return {"code": 1, "err": "ERROR: NOT_FOUND\n"}
    if turn(state, "delete") < plan.get("delete", 0):
        return {"code": 1, "err": "ERROR: the node is being changed\n"}
    del zone[names[0]]
    return {}


def listing(state: Any, plan: Any, zone: Any, _names: list[str], options: dict[str, str]) -> dict[str, Any]:
    if turn(state, "list") < plan.get("list", 0):
        return {"code": 1, "err": "ERROR: UNAVAILABLE\n"}
    key, _, value = options["filter"].removeprefix("labels.").partition("=")
    return {"out": "".join(f"{name}\n" for name, vm in zone.items() if vm["labels"].get(key) == value)}


def describe(state: Any, plan: Any, zone: Any, names: list[str], _options: dict[str, str]) -> dict[str, Any]:
    if names[0] not in zone:
        return {"code": 1, "err": "ERROR: NOT_FOUND\n"}
    return {"out": in_turn(state, "states", plan.get("states", []), "READY") + "\n"}


def attributes(state: Any, plan: Any, _zone: Any, _names: list[str], _options: dict[str, str]) -> dict[str, Any]:
    return {"out": in_turn(state, "attributes", plan.get("attributes", []), "[]")}


_VERBS = {
    "create": create,
    "delete": delete,
    "list": listing,
    "describe": describe,
    "get-guest-attributes": attributes,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
