"""Values that no stack file needs are refused with their line, by bounds of every number and list of the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from infra.model.calendar import time_zones
from infra.model.stack_schema import stack_schema
from tests.model.given import line_of, pool, stack_text, the_refusal

SCHEMA = stack_schema()
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


WINDOW = (
    "[{name: w, start: \"0 22 * * MON-FRI\", duration: 2h, time_zone: UTC, adds: {us-west4-a: 1}}]"
)  # fmt: skip
SMALL = stack_text(
    pools=pool(windows=WINDOW),
    quotas="- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 64}\n",
    budget="usd_per_month: 50000\n",
    freezes="- {name: f, time_zone: Europe/Berlin, from: 2027-03-28T01:00, to: 2027-03-29}\n",
    github="{repository: a/b, environments: [apply], "
    "run_makers: [{repository: a/b, pool: other, workflows: [w.yaml]}]}\n",
    registries="regions: [us-west4]\nrepositories: [{name: a, cleanup: {delete_older_than: 30d, keep_newest: 16}}]\n",
)
CRON = '"0 22 * * MON-FRI"'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("keep_newest: 16", "keep_newest: 1000000000000", "more than 10000"),
        ("delete_older_than: 30d", "delete_older_than: 99999999d", "more than 3650 days"),
        ("chips: 64", "chips: 99999999999", "more than 1000000"),
        ("chips: 64", f"chips: {10**30}", "YAML readers differ on a number of this size"),
        ("usd_per_month: 50000", "usd_per_month: 1e300", "not an amount of US dollars"),
        ("location: us", "location: x", "not a location of buckets"),
        ("location: us", "location: us-wst4", "not a location of buckets"),
        ("time_zone: UTC", "time_zone: localtime", "not a name of the time zone database"),
        ("time_zone: UTC", "time_zone: Factory", "not a name of the time zone database"),
        ("time_zone: UTC", "time_zone: right/UTC", "not a name of the time zone database"),
        (CRON, "'@reboot'", "not a cron of five fields"),
        (CRON, "'@daily'", "not a cron of five fields"),
        (CRON, "'0 22 L * *'", "not a cron of five fields"),
        (CRON, "'0 22 15W * *'", "not a cron of five fields"),
        (CRON, "'0 22 * * 5#2'", "not a cron of five fields"),
        (CRON, "'0 22 * * 5L'", "not a cron of five fields"),
        (CRON, "'0 0 22 * * *'", "not a cron of five fields"),
        (CRON, "'0 5/2 * * *'", "not a cron of five fields"),
        (CRON, "'0 22 ? * *'", "not a cron of five fields"),
        (CRON, "'0 25 * * *'", "not a cron of five fields"),
        ("adds: {us-west4-a: 1}", "adds: {}", "the window adds nothing"),
        ("environments: [apply]", "environments: []", "no environment may apply"),
        ("workflows: [w.yaml]", "workflows: []", "no workflow is named"),
        ("pool: other, workflows", "pool: gone, workflows", "no stack declares a pool of this name"),
        ("from: 2027-03-28T01:00", "from: 2027-03-28T02:30", "this hour does not exist in Europe/Berlin"),
        ("name: other", "!!str name: other", "a tag on a key"),
        ("name: other", "! 'name': other", "a tag on a key"),
    ],
)
def test_a_value_that_no_stack_file_needs_is_refused(old: str, new: str, said: str) -> None:
    text = SMALL.replace(old, new, 1)
    assert text != SMALL
    problem = the_refusal(text, siblings=())
    assert said in problem.rule
    assert problem.subject.startswith(f"stacks/Pulumi.ci.yaml:{line_of(text, new)} ")
