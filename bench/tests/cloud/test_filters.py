"""The language of filters and orders, over what services show."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud.errors import ApiError
from bench.cloud.filters import order, wanted

KNOWN = frozenset({"name", "state", "labels", "createTime", "size", "disabled", "tags", "steps", "displayName"})
ITEMS: list[dict[str, Any]] = [
    {"name": "p/a", "state": "READY", "labels": {"env": "prod", "a.b": "c"}, "size": "9", "disabled": True},
    {"name": "p/b", "state": "STOPPED", "labels": {"env": "dev"}, "size": "10", "tags": ["x", "y"]},
    {"name": "p/c", "createTime": "2026-11-21T08:00:00.5Z", "steps": [{"id": "one"}, {"id": "two"}]},
]


def chosen(text: str, **others: str) -> str:
    test = wanted(text, KNOWN, others)
    return "".join(item["name"][-1] for item in ITEMS if test(item))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "abc"),
        ('name="p/a"', "a"),
        ("name = p/*", "abc"),
        ("name:A", "a"),
        ("state=READY OR state=STOPPED", "ab"),
        ("labels.env=prod", "a"),
        ("labels.env:*", "ab"),
        ("labels:env", "ab"),
        ('labels."a.b"=c', "a"),
        ("NOT state=READY", "bc"),
        ("-state:READY", "bc"),
        ("state!=READY", "bc"),
        ("state=READY AND labels.env=dev", ""),
        ("state=STOPPED labels.env=dev", "b"),
        ("labels.env=prod AND state=READY OR state=STOPPED", "a"),
        ("(labels.env=prod AND state=READY) OR state=STOPPED", "ab"),
        ("size<10", "a"),
        ("size>=9", "ab"),
        ("disabled=true", "a"),
        ("disabled=false", "bc"),
        ("tags:y", "b"),
        ("tags=x", "b"),
        ("steps.id=two", "c"),
        ('createTime>"2026-11-21T08:00:00Z"', "c"),
        ('create_time<"2026-11-21T09:00:00+00:00"', "c"),
        ('create_time>"2026"', "c"),
        ("prod", "a"),
        ("name eq p/[ab]", "ab"),
        ("name ne .*a", "bc"),
        (r'name eq ".*\ba\b.*"', "a"),
        ('(name eq ".*(p/).*")(state eq READY)', "a"),
        (r'name="p/\"a\""', ""),
        ("size>-1", "ab"),
    ],
)
def test_a_filter_means_what_aip_160_says(text: str, found: str) -> None:
    assert chosen(text) == found


def test_a_filter_may_have_names_of_its_own() -> None:
    assert chosen("other_name=p/a", otherName="name") == "a"


@pytest.mark.parametrize(
    "text",
    ["name=", "=a", "(name=a", "name=a)", "name=a AND", "OR name=a", "colour=red", "name eq [", 'name="a', "!name=a"],
)
def test_a_filter_that_cannot_be_read_is_refused_by_its_parameter(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        chosen(text)
    assert (refused.value.code, refused.value.details[0]["fieldViolations"][0]["field"]) == (400, "filter")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "abc"),
        ("name desc", "cba"),
        ("state, name desc", "cab"),
        ("size", "cab"),
        ("labels.env desc", "abc"),
        ("create_time desc,name", "cab"),
    ],
)
def test_an_order_sorts_by_one_field_after_another(text: str, found: str) -> None:
    assert "".join(item["name"][-1] for item in order(text, KNOWN)(ITEMS)) == found


@pytest.mark.parametrize("text", ["colour", "name up", "name desc size", "name,", "  ,name"])
def test_an_order_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        order(text, KNOWN)
    assert refused.value.code == 400
