"""The language of filters, over what services show."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud.errors import ApiError
from bench.cloud.filters import wanted

ITEMS: list[dict[str, Any]] = [
    {"name": "p/a", "state": "READY", "labels": {"env": "prod"}, "disabled": True},
    {"name": "p/b", "state": "STOPPED", "labels": {"env": "dev"}, "tags": ["x", "y"]},
    {"name": "p/c", "createTime": "2026-11-21T08:00:00.5Z", "steps": [{"id": "one"}, {"id": "two"}]},
]
MEANT = {
    "": "abc", " name=p/a ": "a",
    'name="p/a"': "a", "name:A": "a", "labels.env=prod": "a", "labels.env:*": "ab", "labels:env": "ab",
    "labels:*": "ab", "state!=READY": "bc", "state=READY AND labels.env=dev": "", "state=STOPPED labels.env=dev": "b",
    "disabled=true": "a", "disabled=false": "bc", "state=''": "c", "tags:y": "b", "tags=x": "b", "steps.id=two": "c",
    'createTime>"2026-11-21T08:00:00Z"': "c", 'create_time<"2026-11-21T09:00:00+00:00"': "c", 'create_time>"2026"': "c",
    "state=READY OR state=STOPPED": "ab", "labels.env=prod AND state=READY OR state=STOPPED": "a",
    "name<=p/b": "ab", "name>=p/b": "bc", r'name="p/\"a\""': "", "other_name=p/a": "a", "colour=red": "",
}  # fmt: skip


def chosen(text: str) -> str:
    test = wanted(text, {"otherName": "name"})
    return "".join(item["name"][-1] for item in ITEMS if test(item))


def test_a_filter_means_what_aip_160_says() -> None:
    assert {text: chosen(text) for text in MEANT} == MEANT


@pytest.mark.parametrize(
    "text", ["name=", "=a", "(name=a)", "name=a AND", "OR name=a", 'name="a', "!name=a", "prod", "NOT a=b"]
)
def test_a_filter_that_cannot_be_read_is_refused_by_its_parameter(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        chosen(text)
    assert (refused.value.code, refused.value.details[0]["fieldViolations"][0]["field"]) == (400, "filter")
