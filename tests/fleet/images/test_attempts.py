"""Builds that began: what cannot be read is told, and what else a sweep tells is told with it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.images.attempts import ImageStanding, begin, standing
from infra.model import names
from infra.model.errors import ConfigError
from tests.fleet.images.worlds import NOW, World

if TYPE_CHECKING:
    from infra.fleet.images.store import Objects

GOOD = {"build": "cloudbuild/1", "began": "2026-11-21T03:00:00Z", "ends_by": "2026-11-21T07:00:00Z"}
DECLARED = dict.fromkeys(("controller", "tpu-ci"))
LIMIT = timedelta(hours=4)
OBJECT = names.images_attempts_object()


def of_one(attempt: object) -> dict[str, Any]:
    return {"version": 1, "images": {"tpu-ci": attempt}}


UNREADABLE = {
    "no end": of_one({key: value for key, value in GOOD.items() if key != "ends_by"}),
    "no zone": of_one({**GOOD, "ends_by": "2026-11-21T07:00:00"}),
    "no time": of_one({**GOOD, "ends_by": None}),
    "no build": of_one({**GOOD, "build": None}),
    "a list for an attempt": of_one(["cloudbuild/1"]),
    "a list for images": {"version": 1, "images": ["tpu-ci"]},
    "another version": {**of_one(GOOD), "version": 2},
    "no version": {"images": {}},
}


@pytest.fixture
def bucket() -> Objects:
    return World().bucket


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_record_of_attempts_is_refused_with_its_name_and_what_to_do(body: dict[str, Any]) -> None:
    world = World()
    world.bucket.objects[OBJECT] = body
    with pytest.raises(ConfigError, match=OBJECT) as refused:
        list(standing(world.bucket, NOW))
    assert all(each.fix for each in refused.value.problems)
    with pytest.raises(ConfigError, match=OBJECT):
        begin(world.bucket, ["tpu-ci"], "cloudbuild/2", NOW, NOW + LIMIT, declared=DECLARED)
    assert world.bucket.objects[OBJECT] == body


@pytest.mark.parametrize(
    "body",
    [
        {"version": 1, "images": ["tpu-ci"]},
        {"version": 1, "images": {"tpu-ci": {"current": {"due_by": "2026-11-21T07:00:00"}}}},
        {"version": 2},
    ],
    ids=["a list", "no zone", "another version"],
)
def test_what_is_no_record_of_images_is_refused_as_well(body: dict[str, Any]) -> None:
    world = World()
    begin(world.bucket, ["tpu-ci"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    world.bucket.objects[names.images_record_object()] = body
    with pytest.raises(ConfigError, match="the record of images"):
        list(standing(world.bucket, NOW))


def test_a_build_stands_as_failed_once_its_limit_is_over_without_a_record(bucket: Objects) -> None:
    begin(bucket, ["tpu-ci"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    at_work, over = (
        ImageStanding(image="tpu-ci", build="cloudbuild/1", failed=bool(each), overdue_hours=0) for each in (0, 1)
    )
    assert list(standing(bucket, NOW + LIMIT)) == [at_work]
    assert list(standing(bucket, NOW + LIMIT + timedelta(minutes=1))) == [over]


def test_a_build_that_ends_before_it_has_its_recipes_stands_as_failed(bucket: Objects) -> None:
    """Also of an image without times, of which no build ever came as far as its recipes."""
    begin(bucket, ["controller"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    said = {"version": 1, "build": "cloudbuild/2", "began": (NOW + LIMIT).isoformat()}
    bucket.update(names.image_begun_object("tpu-ci"), lambda _: said)

    def of_image(after: timedelta) -> list[tuple[str, bool]]:
        return [(each.build, each.failed) for each in standing(bucket, NOW + LIMIT + after) if each.image == "tpu-ci"]

    assert of_image(timedelta(minutes=15)) == [("cloudbuild/2", False)], "fetch and plan may still be at work"
    assert of_image(timedelta(minutes=21)) == [("cloudbuild/2", True)]
    begin(bucket, ["tpu-ci"], "cloudbuild/2", NOW + LIMIT, NOW + LIMIT * 2, declared=DECLARED)
    assert of_image(timedelta(minutes=21)) == [("cloudbuild/2", False)], "it has them now, and its own limit counts"
    begin(bucket, ["tpu-ci"], "github/3", NOW + LIMIT + LIMIT, NOW + LIMIT * 3, declared=DECLARED)
    assert of_image(LIMIT) == [("github/3", False)], "the one that began last counts"


@pytest.mark.parametrize(
    "body", [{"version": 1, "build": "cloudbuild/1"}, {"version": 2, "build": "a", "began": "2026-11-21T03:00:00Z"}, {}]
)
def test_a_first_word_of_a_build_that_is_none_is_refused_with_its_name(bucket: Objects, body: dict[str, Any]) -> None:
    begin(bucket, ["tpu-ci"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    bucket.update(names.image_begun_object("tpu-ci"), lambda _: body)
    with pytest.raises(ConfigError, match=r"images/begun/tpu-ci\.json"):
        list(standing(bucket, NOW))


def test_what_a_later_program_writes_besides_is_carried_along() -> None:
    world = World()
    world.bucket.objects[OBJECT] = {**of_one({**GOOD, "by": "x"}), "more": [1]}
    begin(world.bucket, ["controller"], "cloudbuild/2", NOW, NOW + LIMIT, declared=DECLARED)
    body = json.loads(json.dumps(world.bucket.objects[OBJECT]))
    assert (body["more"], body["images"]["tpu-ci"]) == ([1], {**GOOD, "by": "x"})


def test_an_image_that_is_declared_no_more_is_forgotten_by_the_next_build_of_any(bucket: Objects) -> None:
    begin(bucket, ["tpu-ci"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    begin(bucket, ["controller"], "cloudbuild/2", NOW, NOW + LIMIT, declared=DECLARED)
    assert [each.image for each in standing(bucket, NOW)] == ["controller", "tpu-ci"]
    begin(bucket, ["controller"], "cloudbuild/3", NOW, NOW + LIMIT, declared={"controller": None})
    assert [each.image for each in standing(bucket, NOW)] == ["controller"]


def test_an_image_of_which_no_build_ever_began_is_overdue_once_two_of_its_times_have_passed(bucket: Objects) -> None:
    """As where its sources cannot be fetched: what would say that its build began never runs."""
    due = NOW + timedelta(days=1)
    begin(bucket, ["controller"], "cloudbuild/1", NOW, NOW + LIMIT, declared={"controller": None, "tpu-ci": due})
    later = {"controller": None, "tpu-ci": due + timedelta(days=7)}
    begin(bucket, ["controller"], "cloudbuild/2", NOW, NOW + LIMIT, declared=later)

    def hours(after: timedelta) -> list[int]:
        return [
            each.overdue_hours for each in standing(bucket, due + after) if (each.image, each.build) == ("tpu-ci", "")
        ]

    assert (hours(timedelta(0)), hours(timedelta(hours=2))) == ([0], [2]), "the first of its days counts"
    begin(bucket, ["tpu-ci"], "cloudbuild/3", NOW, NOW + LIMIT, declared=later)
    assert [each.build for each in standing(bucket, NOW)] == ["cloudbuild/2", "cloudbuild/3"]
    begin(bucket, ["controller"], "cloudbuild/4", NOW, NOW + LIMIT, declared={"controller": None})
    assert [each.image for each in standing(bucket, NOW)] == ["controller"]
