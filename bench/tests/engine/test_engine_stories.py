"""What runs do and say, story by story (`stories.yaml`): plans, events, requests and the state after each run."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
from pulumi import Output, ResourceOptions

from bench.engine import registry, run
from bench.engine.run import Options
from bench.tests.engine.fake import Group, Net, Vm
from bench.tests.engine.world import World
from infra.model.errors import EngineError
from infra.model.facts import read_yaml
from infra.model.plan import Diagnostic, Plan

STORIES = read_yaml(Path(__file__).with_name("stories.yaml").read_text(encoding="utf-8"))
TOLD = Path(__file__).parent / "stories"


class Fake(pulumi.ProviderResource):
    def __init__(self, name: str, opts: ResourceOptions, **props: Any) -> None:
        super().__init__("fake", name, props, opts)


class Record(pulumi.ComponentResource):
    def __init__(self, name: str, opts: ResourceOptions, value: Any, told: Any = None) -> None:
        super().__init__("tidepool:test:Record", name, {"value": value}, opts)
        self.register_outputs({"told": value if told is None else told})


KINDS = {"vm": Vm, "net": Net, "group": Group, "provider": Fake, "record": Record}


def declare(rows: list[dict[str, Any]]) -> None:
    """`=a` is the link of a, `=a.id` its id, `secret=` before a text hides it, and options name resources."""
    made: dict[str, Any] = {}

    def value(said: Any) -> Any:
        if isinstance(said, dict):
            return {key: value(each) for key, each in said.items()}
        if not isinstance(said, str) or "=" not in said:
            return said
        kind, _, name = said.partition("=")
        if kind == "secret":
            return Output.secret(name)
        return made[name.removesuffix(".id")].id if name.endswith(".id") else made[name].link

    for row in rows:
        (kind, name), *props = row.items()
        given = dict(props)
        if kind == "export":
            pulumi.export(name, value(given["value"]))
            continue
        said = {key: _options(key, each, made) for key, each in given.pop("opts", {}).items()}
        made[name] = KINDS[kind](
            name, opts=ResourceOptions(**said), **{key: value(each) for key, each in given.items()}
        )


def _options(key: str, said: Any, made: dict[str, Any]) -> Any:
    if key in ("depends_on", "replace_with"):
        return [made[each] for each in said]
    if key == "custom_timeouts":
        return pulumi.CustomTimeouts(**said)
    return made[said] if key in ("parent", "provider") else said


def told(plan: Plan, world: World) -> dict[str, Any]:
    steps = [
        {key: each for key, each in asdict(step).items() if each or isinstance(each, float)} for step in plan.steps
    ]
    events = [
        f"{type(event).__name__} {event.step.name}" for event in world.events if not isinstance(event, Diagnostic)
    ]
    said = [f"{each.severity}: {each.message} ({each.urn})" for each in plan.diagnostics]
    return {"steps": sorted(steps, key=str), "events": sorted(events), "said": sorted(said), "outputs": plan.outputs}


def state(world: World) -> dict[str, Any]:
    if not world.files.checkpoint.exists():
        return {}
    latest = world.checkpoint
    found = sorted(latest.get("resources", ()), key=lambda each: (each["urn"], each.get("id", "")))
    return {"resources": found, "pending": latest.get("pending_operations", [])}


def act(world: World, step: dict[str, Any]) -> dict[str, Any]:
    """One run of a story."""
    world.events.clear()
    world.cloud.requests.clear()
    world.cloud.failing = step.get("failing", {})
    for id_, thing in step.get("stands", {}).items():
        world.cloud.things[id_] = {**world.cloud.things.get(id_, {}), **thing}
    for id_ in step.get("gone", ()):
        del world.cloud.things[id_]
    if "program" in step:
        world.program = lambda: declare(step["program"])
    if "flying" in step:
        _leave_in_flight(world, step["flying"])
    options: dict[str, Any] = {
        key: frozenset(each) if key == "standing" else each for key, each in step.get("options", {}).items()
    }
    if "importable" in options:
        names = options.pop("importable")
        options |= {"importable": lambda _, inputs: inputs["name"] in names, "is_anothers": _is_anothers}
    try:
        plan = getattr(world.engine(), step["do"])(Options(**options), world.events.append)
    except EngineError as error:
        return {"raised": str(error)}
    requests = sorted(f"{verb} {id_}" for verb, id_ in world.cloud.requests)
    return {**told(plan, world), "requests": requests, **({} if step["do"].startswith("preview") else state(world))}


def _is_anothers(_: Any, outputs: Any) -> bool:
    return outputs.get("owner") == "others"


def _leave_in_flight(world: World, flying: list[dict[str, Any]]) -> None:
    document = json.loads(world.files.checkpoint.read_bytes())
    known = {each["urn"].rpartition("::")[2]: each for each in document["checkpoint"]["latest"]["resources"]}
    document["checkpoint"]["latest"]["pending_operations"] = [
        {"type": each["type"], "resource": {**known[each["like"]], **each.get("but", {})}} for each in flying
    ]
    world.files.checkpoint.write_text(json.dumps(document))


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_told_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, update_goldens: bool
) -> None:
    """Every step takes no time."""
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: 2.0))
    monkeypatch.setattr(registry, "uuid", SimpleNamespace(uuid4=lambda: "an-id"))
    found = []
    for number, step in enumerate(STORIES[name], 1):
        found.append({"run": f"{number} {step['do']}", **act(world, step)})
    text = re.sub(r'"v1:[^"]*"', '"sealed"', "".join(map(_lines, found)))
    golden = TOLD / f"{name}.txt"
    if update_goldens:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def _lines(told_: dict[str, Any]) -> str:
    number = told_.pop("run")
    parts = ((part, said if isinstance(said, list) else [said]) for part, said in told_.items())
    return "".join(f"{number} {part} {json.dumps(each, sort_keys=True)}\n" for part, all_ in parts for each in all_)
