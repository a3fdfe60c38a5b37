"""What an edit that calls a pool or a repository otherwise is told to mean, of the edit and of its plan."""

from __future__ import annotations

import pytest

from infra.model.plan import Op
from infra.preview.meaning import RiskKind
from infra.preview.plan_lines import describe
from tests.cli import plans
from tests.model.given import pool, stack_text
from tests.preview.two_versions import meaning

TWO = pool(zones="{us-west4-a: 2}")
NEW = TWO.replace("name: other", "name: fresh")
FULL = "- {name: lab, project: my-lab, zone: us-west4-a, generation: v5e, chips: 8}\n"
REGISTRIES = "regions: [us-west4]\nrepositories:\n  - {name: images, description: Ours}\n"


def renames(before: str, after: str) -> list[str]:
    return [risk.says for risk in meaning(before, after).risks if risk.kind is RiskKind.RENAME]


def test_a_renamed_pool_is_told_with_its_vms_its_money_and_what_keeps_them() -> None:
    (said,) = renames(stack_text(pools=TWO), stack_text(pools=NEW))
    assert said.startswith(
        "pool other is called fresh: Google renames no TPU VM and no service account, so `up` makes "
    )
    assert "2 VMs (8 chips) under the new name, and deletes as many once these serve and no job runs there ($" in said
    assert said.endswith("leave `name: other` and write `label: fresh`, by which jobs ask for the pool")


def test_a_pool_that_fills_its_reservation_goes_first() -> None:
    reserved = {"capacity": "{reserved: lab}"}
    before, after = (pool(zones="{us-west4-a: 2}", name=name, **reserved) for name in ("other", "fresh"))
    (said,) = renames(stack_text(pools=before, reservations=FULL), stack_text(pools=after, reservations=FULL))
    assert "`up` deletes 2 VMs (8 chips) first, for the limit has no room for both, and makes as many anew" in said


@pytest.mark.parametrize(
    "after",
    [
        NEW.replace("us-west4-a: 2", "us-west4-a: 3"),
        TWO + NEW,
        "[]\n",
    ],
    ids=["another count too", "both stand", "it only goes"],
)
def test_what_differs_in_more_than_its_name_is_no_rename(after: str) -> None:
    assert renames(stack_text(pools=TWO), stack_text(pools=after)) == []


def test_a_renamed_repository_keeps_its_images_and_is_forgotten_not_deleted() -> None:
    other = REGISTRIES.replace("name: images", "name: pictures")
    (said,) = renames(stack_text(pools=TWO, registries=REGISTRIES), stack_text(pools=TWO, registries=other))
    assert said.startswith("repository images is called pictures: Artifact Registry renames none")
    assert "`./tidepool forget ci '*/images'` before the next `up`, which then leaves its images there" in said


def test_a_plan_says_it_beside_the_capacity() -> None:
    going = [plans.vm(Op.DELETE, "old", "us-west4-a", index) for index in range(2)]
    coming = [plans.vm(Op.CREATE, "new", "us-west4-a", index) for index in range(2)]
    lines = [str(line) for line in describe(plans.plan(*going, *coming), 80)]
    told = lines.index("  old -> new looks like a rename: Google renames no TPU VM, so that all are made anew")
    assert lines[told + 1].strip().startswith("to keep them, leave `name: old` and write `label: new`")
    fewer = [str(line) for line in describe(plans.plan(*going, coming[0]), 80)]
    assert not any("looks like a rename" in line for line in fewer)
