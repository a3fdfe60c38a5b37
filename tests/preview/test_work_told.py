"""An edit of Dask classes and groups, told by what they use: neither makes capacity."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from infra.preview.meaning import Meaning, RiskKind
from infra.rules.losing import protected_losses
from tests.model.given import stack_text
from tests.model.workloads import CLUSTER, CODE, MATH, SLICES, TEAMS, TRANSFORM, stack
from tests.preview.two_versions import heading, meaning


def text(batch: Any = (), groups: Any = (), store: Any = None) -> str:
    sections: dict[str, Any] = {"cluster": CLUSTER, "slices": SLICES, "queues": {"teams": TEAMS}}
    sections |= {"store": store} if store else {}
    sections |= {key: list(value) for key, value in {"batch": batch, "groups": groups}.items() if value}
    written = {key: yaml.safe_dump(value, sort_keys=False) for key, value in sections.items()}
    return stack_text(pools="[]\n", **written)


def told(found: Meaning) -> dict[str, str]:
    return {each.subject: each.says for each in found.risks if each.kind is RiskKind.IN_PLACE}


def test_a_group_is_told_by_the_chips_that_it_holds_and_makes_no_capacity() -> None:
    found = meaning(text(groups=[CODE]), text(groups=[CODE, MATH]))
    assert heading(found) == "ci: no change of capacity; changed: groups"
    assert told(found) == {
        "groups[math]": "group math holds 0 -> 16 chips of v4-32, 0 -> 12 chips of v4-8 out of the slices that the "
        "stack declares; it makes no capacity"
    }
    assert not any(line.chips.delta for line in found.ledger)
    assert not any(pool.chips.delta for pool in found.pools)


def test_a_group_without_an_image_holds_nothing_yet() -> None:
    later = {key: value for key, value in MATH.items() if key != "image"}
    said = told(meaning(text(), text(groups=[later])))["groups[math]"]
    assert said == "group math has no image, so that nothing of it stands in the cluster"


def test_a_class_is_told_by_its_workers() -> None:
    found = meaning(text(batch=[TRANSFORM]), text(batch=[TRANSFORM | {"maximum": 30}]))
    assert told(found) == {
        "batch[transform]": "class transform has 2 to 40 workers on pool batch -> 2 to 30 workers on pool batch; it "
        "makes no capacity"
    }
    gone = told(meaning(text(batch=[TRANSFORM]), text()))
    assert gone["batch[transform]"].startswith("class transform has 2 to 40 workers on pool batch -> no workers")


def test_a_checkpoint_bucket_that_leaves_the_file_is_a_protected_loss() -> None:
    elsewhere = MATH | {"checkpoints": {"bucket": "my-lab-tpus-math", "location": "us"}}
    for after in ([CODE], [CODE, elsewhere], [CODE, MATH | {"checkpoints": {"bucket": "somebody-elses"}}]):
        assert list(protected_losses(stack(), stack(groups=after))) == ["bucket my-lab-tpus-math in us-central2"]
    assert list(protected_losses(stack(groups=[CODE]), stack(groups=[]))) == [], "it is somebody else's"


REDIS = {"region": "us-central1", "replicated": True}


@pytest.mark.parametrize(
    ("after", "kind", "what"),
    [
        ({"redis": REDIS | {"replicated": False}}, RiskKind.REPLACE, "replaced (replicated true -> false)"),
        ({"redis": REDIS | {"range": "10.9.0.0/29"}}, RiskKind.REPLACE, "replaced (range 10.33.0.0/29 -> 10.9.0.0/29)"),
        (None, RiskKind.DELETE, "deleted"),
    ],
)
def test_a_store_that_an_edit_replaces_or_deletes_is_told_with_what_is_lost(
    after: Any, kind: RiskKind, what: str
) -> None:
    found = meaning(text(store={"redis": REDIS}), text(store=after))
    assert [(each.kind, each.says) for each in found.risks if each.subject == "store"] == [
        (kind, f"the store is {what}: every lock and status in it is lost")
    ]


def test_what_runs_may_make_is_told_with_its_ceilings() -> None:
    from infra.preview.work import run_changes
    from tests.model.given import parse
    from tests.model.test_runs import TEXT

    plain, may = parse(TEXT.partition("  tidepool:runs:")[0]), parse(TEXT)
    more = parse(TEXT.replace("per_day: 4", "per_day: 9"))
    assert run_changes(may, may) == ""
    assert run_changes(plain, may).startswith(
        "runs may make v6e-1, v6e-4, v5litepod-1 as pool nights in us-central1-b, us-east5-a, us-west4-a: 4 VMs a day, "
        "2 at once, each for 60"
    )
    assert "4 -> 9 VMs a day, 2 -> 2 at once" in run_changes(may, more)
    assert run_changes(may, plain) == "runs may make no VM any more"
