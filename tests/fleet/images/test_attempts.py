"""Builds that began: what cannot be read is told, and what else a sweep tells is told with it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from infra.fleet.images.attempts import ImageStanding, begin, standing
from infra.fleet.sweep_log import image_lines
from infra.model import bucket_names
from infra.model.errors import ConfigError
from tests.fleet.images.worlds import NOW, Bucket, World

GOOD = {"build": "cloudbuild/1", "began": "2026-11-21T03:00:00Z", "ends_by": "2026-11-21T07:00:00Z"}
DECLARED = dict.fromkeys(("controller", "tpu-ci"))
LIMIT = timedelta(hours=4)
OBJECT = bucket_names.images_attempts_object()


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
def bucket() -> Bucket:
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


def test_a_build_stands_as_failed_once_its_limit_is_over_without_a_record(bucket: Bucket) -> None:
    begin(bucket, ["tpu-ci"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    at_work, over = (
        ImageStanding(image="tpu-ci", build="cloudbuild/1", failed=bool(each), overdue_hours=0) for each in (0, 1)
    )
    assert list(standing(bucket, NOW + LIMIT)) == [at_work]
    assert list(standing(bucket, NOW + LIMIT + timedelta(minutes=1))) == [over]


def say(bucket: Bucket, image: str, body: object, at: datetime) -> None:
    """What the first step of a build writes, at a time of the bucket's clock."""
    bucket.clock = at
    bucket.update(bucket_names.image_begun_object(image), lambda _: cast("dict[str, Any]", body))


def first_word(build: str, **more: object) -> dict[str, object]:
    return {"version": 1, "build": build, **more}


def told(bucket: Bucket, at: datetime) -> dict[str, tuple[str, bool]]:
    return {each.image: (each.build, each.failed) for each in standing(bucket, at)}


def test_a_build_that_ends_before_it_has_its_recipes_stands_as_failed(bucket: Bucket) -> None:
    """Also of an image without times, of which no build ever came as far as its recipes."""
    begin(bucket, ["controller"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    say(bucket, "tpu-ci", first_word("cloudbuild/2"), NOW + LIMIT)

    def of_image(after: timedelta) -> tuple[str, bool]:
        return told(bucket, NOW + LIMIT + after)["tpu-ci"]

    assert of_image(timedelta(minutes=15)) == ("cloudbuild/2", False), "fetch and plan may still be at work"
    assert of_image(timedelta(minutes=21)) == ("cloudbuild/2", True)
    begin(bucket, ["tpu-ci"], "cloudbuild/2", NOW + LIMIT, NOW + LIMIT * 2, declared=DECLARED)
    assert of_image(timedelta(minutes=21)) == ("cloudbuild/2", False), "it has them now, and its own limit counts"
    begin(bucket, ["tpu-ci"], "github/3", NOW + LIMIT + LIMIT, NOW + LIMIT * 3, declared=DECLARED)
    assert of_image(LIMIT) == ("github/3", False), "the one that began last counts"


@pytest.mark.parametrize(
    "body",
    [{"version": 1}, {"version": 1, "build": 7}, {"version": 2, "build": "a"}, {}, first_word("x" * 5000)],
    ids=["no build", "no text", "another version", "empty", "large"],
)
def test_a_first_word_of_a_build_that_is_none_speaks_for_its_image_alone(bucket: Bucket, body: object) -> None:
    begin(bucket, ["controller", "tpu-ci"], "cloudbuild/1", NOW, NOW + LIMIT, declared=DECLARED)
    say(bucket, "controller", body, NOW)
    say(bucket, "tpu-ci", first_word("cloudbuild/2"), NOW + LIMIT)
    later = NOW + LIMIT + timedelta(minutes=21)
    assert told(bucket, later) == {"controller": ("cloudbuild/1", True), "tpu-ci": ("cloudbuild/2", True)}
    bad, good = image_lines(bucket, "ci", later)
    assert "images/begun/controller.json" in bad["message"]
    assert good["message"] == "tpu-ci: its last build ended without a record"


def test_an_image_of_which_no_build_ever_began_is_overdue_once_two_of_its_times_have_passed(bucket: Bucket) -> None:
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
    assert [line["message"] for line in image_lines(bucket, "ci", due + timedelta(hours=2))] == [
        "controller: its last build ended without a record",
        "tpu-ci: no build of it ever began, and no build came for 2 hours",
    ]
    (line,) = (each for each in image_lines(bucket, "ci", NOW) if each["image"] == "controller")
    assert line["message"] == "controller: its last build is recorded or at work"
    begin(bucket, ["tpu-ci"], "cloudbuild/3", NOW, NOW + LIMIT, declared=later)
    assert [each.build for each in standing(bucket, NOW)] == ["cloudbuild/2", "cloudbuild/3"]
    begin(bucket, ["controller"], "cloudbuild/4", NOW, NOW + LIMIT, declared={"controller": None})
    assert [each.image for each in standing(bucket, NOW)] == ["controller"]
