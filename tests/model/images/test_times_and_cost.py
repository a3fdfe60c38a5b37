"""When an image is too old, which findings are accepted on a day, and what builds cost."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

from infra.model.facts import facts
from infra.model.fields.images import BUILD_MACHINES
from infra.model.images.cost import LATE, build_cost, due_by
from infra.model.images.record_documents import Build
from infra.model.images.scans import grype_config
from tests.model.images.declared import EXCEPTIONS, IMAGES, edited, loaded, project

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def build(**more: object) -> Build:
    fields = {"digest": f"sha256:{'1' * 64}", "revision": {}, "built": AT, "build": "cloudbuild/1", "places": ()}
    return Build.model_validate(fields | more)


def test_an_image_is_too_old_once_its_next_two_builds_have_not_come(tmp_path: Path) -> None:
    spec = loaded(project(tmp_path))
    assert due_by(spec, "runner", AT) == datetime(2026, 11, 23, 3, tzinfo=UTC) + LATE, "it is built at three"
    assert due_by(spec, "base", AT) is None


def test_a_child_is_built_at_its_parents_times(tmp_path: Path) -> None:
    weekly = '      schedule: {cron: "0 2 * * 0", time_zone: UTC}\n  - name: child'
    text = edited(IMAGES, ("      push: {branch: main}\n  - name: child", weekly))
    spec = loaded(project(tmp_path, {"images/images.yaml": text}))
    assert due_by(spec, "child", AT) == due_by(spec, "base", AT) == datetime(2026, 11, 29, 2, tzinfo=UTC) + LATE


def test_a_finding_is_accepted_for_its_images_until_its_last_day(tmp_path: Path) -> None:
    spec = loaded(project(tmp_path, {"images/images.yaml": edited(IMAGES, ("images:\n", f"{EXCEPTIONS}images:\n"))}))

    def accepted(image: str, day: date) -> list[str]:
        return [each["vulnerability"] for each in json.loads(grype_config(spec.exceptions, image, day))["ignore"]]

    both = ["CVE-2026-1234", "GHSA-aaaa-bbbb-cccc"]
    assert accepted("runner", date(2026, 11, 30)) == both
    assert accepted("base", date(2026, 11, 30)) == both[1:]
    assert accepted("runner", date(2026, 12, 1)) == both[:1]
    assert accepted("runner", date(2026, 12, 2)) == []
    (first, _) = json.loads(grype_config(spec.exceptions, "runner", date(2026, 11, 30)))["ignore"]
    assert (first["package"], first["reason"]) == ({"name": "openssl"}, "Nothing here listens.")


def test_builds_cost_their_minutes_on_their_machine(tmp_path: Path) -> None:
    image = loaded(project(tmp_path)).image("runner")
    cost = build_cost(image, build(seconds=720), "E2_HIGHCPU_32")
    assert cost is not None
    assert (float(cost.usd), cost.times, float(cost.usd_per_month)) == (0.77, 30, 23.04)
    assert build_cost(image, build(seconds=720, build="github/1-1"), "E2_HIGHCPU_32") is None
    assert build_cost(image, build(), "E2_HIGHCPU_32") is None
    assert build_cost(image, None, "E2_HIGHCPU_32") is None


def test_every_machine_that_a_stack_may_name_has_a_price() -> None:
    assert set(facts("builds")["usd_per_minute"]) == set(BUILD_MACHINES)
