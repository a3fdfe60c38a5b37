"""What `up` says of the versions that pools are about to try, and of those that stay back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from infra.fleet.controller.memory import EMPTY
from infra.fleet.records import Newest
from infra.fleet.status.derive import coming
from infra.fleet.versions import PartKind, PoolVersion, Rollout, Stage, VersionPart
from infra.model import bucket_names
from infra.model.manifest import manifest
from infra.operations.fleet.status_words import coming_line
from tests.fleet.controller.given_fleet import START
from tests.model.given import parse, pool, stack_text

OLD, BUNDLE = "a" * 64, "b" * 64
BAD = {"us-west4": f"r@sha256:{'c' * 64}"}
STABLE = PoolVersion(images={"us-west4": f"r@sha256:{'d' * 64}"}, bundle=OLD)
POOL = pool(name="tpu-ci", serves="[a-lab/code]")


class Bucket(dict[str, Any]):
    """Records that are only read."""

    def body(self, name: str) -> Any:
        return self.get(name)

    content = body

    def newest(self, name: str, parse: Callable[[Any], Any], **_: Any) -> Newest[Any]:
        return Newest(value=parse(self[name])) if name in self else Newest()


def said(bundle: str, rollout: Rollout | None, images: dict[str, str], **requests: Any) -> list[str]:
    config = parse(stack_text(pools=POOL))
    memory = replace(EMPTY, rollouts={"tpu-ci": rollout} if rollout else {})
    bucket = Bucket({bucket_names.manifest_object("ci"): manifest(config, bundle=bundle, startup_script="#!/bin/sh")})
    bucket[bucket_names.memory_object("ci")] = memory.encoded("a")
    bucket[bucket_names.pointer_object()] = {"version": 1, "images": {"tpu-ci": images}}
    bucket[bucket_names.requests_object("ci")] = {"version": 1, "rollout": requests}
    return [coming_line(each) for each in coming(bucket, "ci")]  # ty: ignore[invalid-argument-type]


def steady(**more: Any) -> Rollout:
    return Rollout(stable=STABLE, target=STABLE, since=START, **more)


def test_a_new_bundle_is_tried_and_the_image_that_failed_stays_back() -> None:
    failed = steady(stage=Stage.FAILED, bad=(VersionPart(PartKind.IMAGE, f"sha256:{'c' * 64}"),))
    tried, back = f"bundle {'b' * 12} is tried on one VM first", f"image {'c' * 12} is tried again only by"
    assert said(BUNDLE, failed, BAD) == [f"tpu-ci: {tried}; {back} `./tidepool rollout redo tpu-ci`"]


def test_what_people_took_back_stays_back_and_what_they_requested_again_is_tried() -> None:
    part = {"part": f"image sha256:{'c' * 64}", "at": START.isoformat()}
    back = f"tpu-ci: image {'c' * 12} is tried again only by `./tidepool rollout redo tpu-ci`"
    assert said(OLD, steady(), BAD, undone={"tpu-ci": [part]}) == [back]
    again = f"tpu-ci: image {'c' * 12} is tried on one VM first"
    assert said(OLD, steady(), BAD, undone={"tpu-ci": [{**part, "over": True}]}) == [again]


def test_an_image_and_a_bundle_that_are_both_new_are_tried_together() -> None:
    both = f"tpu-ci: image {'c' * 12} and bundle {'b' * 12} are tried on one VM first"
    assert said(BUNDLE, steady(), BAD) == [both]


def test_nothing_is_said_where_nothing_is_new_or_no_controller_keeps_the_fleet() -> None:
    assert said(OLD, steady(), dict(STABLE.images)) == []
    assert said(BUNDLE, None, BAD) == []
