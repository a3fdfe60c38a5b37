"""The JSON Schema of stack files takes what the models take, and refuses what they refuse by type, word or key."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from infra.model import yamlfile
from infra.model.calendar import time_zones
from infra.model.catalogue import accelerator_types, zones
from infra.model.errors import ConfigError
from infra.model.stack import parse_stack
from infra.model.stack_schema import schema_text, stack_schema
from infra.model.stack_text import stack_names, stack_path
from tests.synthetic_lab import ROOT, SYNTHETIC

SCHEMA = stack_schema()
JUDGE = Draft7Validator(SCHEMA)
STACKS = [
    pytest.param(root, name, id=f"{root.name}-{name}") for root in (ROOT, SYNTHETIC) for name in stack_names(root)
]
CHANGES = {"a list": [["no"]], "a mapping": {"no-such-key": 1}, "a word": "No Such Word!", "nothing": None}
"""What no value of a stack file may be, but where text is free."""


def content(root: Path, stack: str) -> dict[str, Any]:
    return yamlfile.read(stack_path(root, stack).read_text(encoding="utf-8"), stack).data


def is_refused(data: dict[str, Any], stack: str) -> bool:
    """By the models and their rules."""
    try:
        parse_stack(json.dumps(data), stack=stack, source=stack)
    except ConfigError:
        return True
    return False


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every value below `config`, the first of each list for all."""
    inside = data.items() if isinstance(data, dict) else list(enumerate(data))[:1] if isinstance(data, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(data: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    copied = copy.deepcopy(data)
    target: Any = copied["config"]
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return copied


def at(data: dict[str, Any], path: tuple[str | int, ...]) -> Any:
    found: Any = data["config"]
    for step in path:
        found = found[step]
    return found


def test_it_is_a_schema_of_draft_7() -> None:
    Draft7Validator.check_schema(json.loads(schema_text()))


@pytest.mark.parametrize(("root", "stack"), STACKS)
def test_a_stack_that_stands_is_right_by_it(root: Path, stack: str) -> None:
    assert [error.message for error in JUDGE.iter_errors(content(root, stack))] == []


@pytest.mark.parametrize(("root", "stack"), [each for each in STACKS if each.values[0] == SYNTHETIC])
def test_a_wrong_type_or_word_that_the_models_refuse_is_refused_by_it(root: Path, stack: str) -> None:
    data = content(root, stack)
    ours = [path for path in places(data["config"]) if not str(path[0]).startswith(("gcp:add", "pulumi:"))]
    assert len(ours) > 20
    assert not is_refused(data, stack)
    let_through = []
    for path in ours:
        for what, value in CHANGES.items():
            wrong = changed(data, path, value)
            if JUDGE.is_valid(wrong) and is_refused(wrong, stack):
                let_through.append(f"{yamlfile.render(path)}: {what}")
    assert let_through == []


def test_what_pulumi_config_set_writes_is_right_too() -> None:
    """A structured value as JSON in one text, and what the pulumi CLI keeps at the top."""
    data = content(SYNTHETIC, "ci")
    text = changed(data, ("tidepool:vm_labels",), '{"team": "tpu"}') | {"encryptionsalt": "v1:"}
    assert JUDGE.is_valid(text)
    assert not is_refused(text, "ci")


def test_an_editor_completes_zones_and_types_and_explains_keys() -> None:
    pool = SCHEMA["definitions"]["Pool"]["properties"]
    assert set(pool["zones"]["properties"]) == set(zones())
    types = SCHEMA["definitions"][pool["accelerator"]["$ref"].rpartition("/")[2]]
    assert set(types["enum"]) == set(accelerator_types())
    assert pool["label"]["description"].startswith("routing label, unique to the pool")
    bare = [key for key, each in SCHEMA["properties"]["config"]["properties"].items() if not each.get("description")]
    assert bare == []


def test_a_default_is_written_as_people_write_it() -> None:
    """Memory is kept in MB, and its default would be a wrong value of the file."""
    for name, model in SCHEMA["definitions"].items():
        for key, shape in model.get("properties", {}).items():
            if "default" in shape:
                own = {**shape, "definitions": SCHEMA["definitions"]}
                assert Draft7Validator(own).is_valid(shape["default"]), f"{name}.{key}"


MAY_BE_EMPTY = {
    ("Builds", "connections"): "images that are built at GitHub alone",
    ("Pool", "zones"): "refused by a rule, which names a zone",
    ("Registries", "regions"): "nothing is made",
    ("Registries", "repositories"): "nothing is made",
    ("SecretDecl", "readers"): "others alone read it",
}
"""Required lists that may be empty, each with why."""


def shapes(found: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(found, dict):
        yield path, found
        for key, each in found.items():
            yield from shapes(each, f"{path}.{key}") if key != "default" else ()
    elif isinstance(found, list):
        for each in found:
            yield from shapes(each, path)


def test_every_number_has_a_least_and_a_most() -> None:
    numbers = [(path, each) for path, each in shapes(SCHEMA) if each.get("type") in ("integer", "number")]
    assert len(numbers) > 20
    unbounded = [
        path
        for path, each in numbers
        if not ({"minimum", "exclusiveMinimum"} & each.keys() and {"maximum", "exclusiveMaximum"} & each.keys())
    ]
    assert unbounded == []


def test_every_text_may_be_checked() -> None:
    texts = [(path, each) for path, each in shapes(SCHEMA) if each.get("type") == "string"]
    assert len(texts) > 20
    free = [path for path, each in texts if not {"enum", "const", "pattern", "minLength"} & each.keys()]
    assert free == [".definitions.Repository.properties.description"]


def test_every_required_list_has_an_item() -> None:
    empty = {
        (name, key)
        for name, model in SCHEMA["definitions"].items()
        for key in model.get("required", ())
        if model["properties"][key].get("type") in ("array", "object")
        and not {"minItems", "minProperties"} & model["properties"][key].keys()
    }
    assert empty == MAY_BE_EMPTY.keys()


@pytest.mark.parametrize(
    "name", ["localtime", "Factory", "posixrules", "leapseconds", "posix/UTC", "right/UTC", "tzdata.zi", "", "../UTC"]
)
def test_what_only_this_machine_takes_for_a_time_zone_is_none(name: str) -> None:
    assert name not in time_zones()
    assert {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"} <= time_zones()
