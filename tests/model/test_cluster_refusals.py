"""What a stack file may not say of a cluster and its slices. GKE would take some of these and never give a node."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.model import ledger
from tests.model.given import cost_of, pool, refusals, sibling, stack_text, the_refusal
from tests.model.given import parse as parsed

ENTRY = {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "number": 1}


def cluster(**fields: object) -> str:
    """A right cluster of us-central2; a value of None leaves a key out."""
    usual: dict[str, object] = {
        "name": "train",
        "region": "us-central2",
        "zones": "[us-central2-b]",
        "maintenance": "{days: [SA, SU], start: '09:00', hours: 8}",
        "system": "{machine_type: n2-standard-8}",
    }
    return "".join(f"{key}: {value}\n" for key, value in (usual | fields).items() if value is not None)


def entry(**fields: object) -> str:
    lines = [f"{key}: {value}" for key, value in (ENTRY | fields).items() if value is not None]
    return "- " + "\n  ".join(lines) + "\n"


def text(*entries: str, of: str | None = None, **sections: str) -> str:
    return stack_text(cluster=cluster() if of is None else of, slices="".join(entries) or entry(), **sections)


def batch(**fields: object) -> str:
    usual: dict[str, object] = {
        "name": "batch",
        "machine_type": "n2-highmem-16",
        "zones": "[us-central2-b]",
        "maximum": 4,
    }
    inner = ", ".join(f"{key}: {value}" for key, value in (usual | fields).items())
    return f"[{{{inner}}}]"


def test_the_small_right_cluster_is_accepted() -> None:
    config = parsed(text())
    assert config.cluster is not None
    assert [each.name for each in config.slices] == ["v4-32-spot"]


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        ({"accelerator": "v4-33"}, ".accelerator", "v4-32"),
        ({"zone": "us-central2-a"}, ".zone", "us-central2-b"),
        ({"zone": "moon-a"}, ".zone", "us-central2-b"),
        ({"capacity": "preemptible"}, ".capacity", "spot"),
        ({"capacity": "cheap"}, ".capacity", "{flex-start: 24h}"),
        ({"capacity": "flex-start"}, ".capacity", "{flex-start: 24h}"),
        ({"capacity": "{flex-start: 8d}", "number": None, "buffer": 0, "maximum": 1}, ".capacity", "{flex-start: 24h}"),
        ({"capacity": "{flex-start: 5m}", "number": None, "buffer": 0, "maximum": 1}, ".capacity", "{flex-start: 24h}"),
        ({"capacity": "{flex-start: 1h, reserved: lab}"}, ".capacity", "on-demand, spot"),
        ({"capacity": "{flex-start: 24h}"}, "", "buffer: 0 and maximum: 1"),
        ({"capacity": "{flex-start: 24h}", "number": None, "buffer": 1, "maximum": 2}, "", "buffer: 0"),
        ({"capacity": "{reserved: lab}"}, ".capacity.reserved", "declare it under tidepool:reservations"),
        ({"number": None}, "", "number: N, or buffer: B and maximum: M"),
        ({"number": None, "buffer": 1}, "", "number: N, or buffer: B and maximum: M"),
        ({"number": 1, "maximum": 2}, "", "number: N, or buffer: B and maximum: M"),
        ({"number": None, "buffer": 3, "maximum": 2}, ".buffer", "at most 2"),
        ({"number": -1}, ".number", "0 to 10000"),
        ({"unlisted_zone": "it works"}, ".unlisted_zone", "remove the line"),
        ({"topology": "2x2x4"}, ".topology", "remove the line"),
        ({"spot": "true"}, ".spot", "capacity: on-demand, spot"),
        ({"queued": "true"}, ".queued", "one of accelerator"),
    ],
)
def test_slices_are_refused_with_the_place_and_what_to_write(fields: dict[str, object], path: str, said: str) -> None:
    problem = the_refusal(text(entry(**fields)))
    assert problem.subject.endswith(f"tidepool:slices[0]{path}")
    assert said in problem.fix


def test_zone_of_another_region_needs_a_cluster_of_its_own() -> None:
    problem = the_refusal(text(entry(accelerator="v5p-16", zone="us-central1-a")))
    assert "cluster's region, us-central2" in problem.rule
    assert "a stack of its own" in problem.fix


def test_zone_that_is_only_seen_says_why_it_is_used() -> None:
    of = cluster(region="us-east1", zones="[us-east1-d]")
    problem = the_refusal(text(entry(accelerator="v5p-16", zone="us-east1-d"), of=of))
    assert "unlisted_zone" in problem.fix
    assert parsed(text(entry(accelerator="v5p-16", zone="us-east1-d", unlisted_zone="prices name it"), of=of))


def test_host_without_a_published_machine_type_is_no_node() -> None:
    of = cluster(region="us-central1", zones="[us-central1-c]")
    problem = the_refusal(text(entry(accelerator="tpu7x-2", zone="us-central1-c"), of=of))
    assert "no machine type" in problem.rule


def test_slices_need_a_cluster() -> None:
    problem = the_refusal(stack_text(slices=entry()))
    assert "the stack declares slices and no cluster" in problem.rule


def test_one_entry_for_an_accelerator_zone_and_kind_of_capacity() -> None:
    problem = the_refusal(text(entry(), entry(number=2)))
    assert "slices[0] has the same" in problem.rule
    assert parsed(text(entry(), entry(capacity="on-demand")))


def test_slices_and_pools_of_tpu_vms_are_told_apart() -> None:
    problem = the_refusal(text(pools=pool(name="v4-32-spot")))
    assert problem.fix == "another name for the pool"


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        ({"name": "Train"}, ".name", "such as train"),
        ({"name": "t" * 41}, ".name", "such as train"),
        ({"region": "us-central2-b"}, ".region", "schema"),
        ({"zones": "[]"}, ".zones", "such as"),
        ({"zones": "[us-central2-b, us-central2-b]"}, ".zones[1]", "remove one"),
        ({"zones": "[us-central1-a]"}, ".zones[0]", "a zone of us-central2"),
        ({"system": "{machine_type: e2-standard-4}"}, ".system.machine_type", "n1, n2, n2d, n4, t2d"),
        ({"system": "{machine_type: big}"}, ".system.machine_type", "such as n2-standard-8"),
        ({"system": "{machine_type: n2-standard-12}"}, ".system.machine_type", "one with 2, 4, 8, 16, 32, 48"),
        ({"cpu_pools": batch(machine_type="t2d-highmem-8")}, ".cpu_pools[0].machine_type", "such as n2-standard-8"),
        ({"system": "{machine_type: n2-standard-8, nodes: 0}"}, ".system.nodes", "a number such as 1"),
        ({"system": None}, ".system", "system:"),
        ({"release_channel": "nightly"}, ".release_channel", "rapid, regular, stable, extended"),
        ({"minimum_version": "1.35.x"}, ".minimum_version", 'such as "1.35"'),
        ({"maintenance": "{days: [SA], start: '09:00', hours: 8}"}, ".maintenance", "more days"),
        ({"maintenance": "{days: [SA, SA], start: '09:00', hours: 24}"}, ".maintenance.days[1]", "remove one"),
        ({"maintenance": "{days: [SA, SU], start: '25:00', hours: 8}"}, ".maintenance.start", "09:00"),
        ({"maintenance": "{days: [SA, SU, MO, TU], start: '09:00', hours: 3}"}, ".maintenance.hours", "such as 8"),
        ({"cpu_pools": batch(machine_type="e2-standard-8")}, ".cpu_pools[0].machine_type", "n1, n2, n2d, n4, t2d"),
        ({"cpu_pools": batch(zones="[us-west4-a]")}, ".cpu_pools[0].zones[0]", "a zone of us-central2"),
        ({"cpu_pools": batch(minimum=5)}, ".cpu_pools[0].maximum", "5 or more"),
        ({"cpu_pools": batch(maximum=0)}, ".cpu_pools[0].maximum", "1 or more"),
        ({"cpu_pools": batch(name="system")}, ".cpu_pools[0].name", "such as batch"),
        ({"cpu_pools": batch(name="ct4p-hightpu-4t-2x2x4-b-spot-0")}, ".cpu_pools[0].name", "such as batch"),
        ({"cpu_pools": batch(spot="yes please")}, ".cpu_pools[0].spot", "true or false"),
        ({"ranges": "{nodes: 10.64.0.0/16}"}, ".ranges.pods", "another range"),
        ({"ranges": "{nodes: 8.8.0.0/16}"}, ".ranges.nodes", "such as 10.0.0.0/16"),
        ({"ranges": "{nodes: 10.0.0.1/16}"}, ".ranges.nodes", "such as 10.0.0.0/16"),
        ({"ranges": "{nodes: 10.0.0.0/30}"}, ".ranges.nodes", "such as 10.0.0.0/29"),
        ({"ranges": "{pods: 10.64.0.0/25}"}, ".ranges.pods", "such as 10.64.0.0/23"),
        ({"deletion_protection": "maybe"}, ".deletion_protection", "true or false"),
        ({"machine": "big"}, ".machine", "a key of docs/stack-file.md"),
    ],
)
def test_cluster_is_refused_with_the_place_and_what_to_write(fields: dict[str, object], path: str, said: str) -> None:
    problem = the_refusal(text(of=cluster(**fields)))
    assert problem.subject.endswith(f"tidepool:cluster{path}")
    assert said in problem.fix


def test_exclusion_ends_after_it_began() -> None:
    exclusion = "{name: neurips, from: 2026-12-10, to: 2026-12-01, scope: no-upgrades}"
    maintenance = f"{{days: [SA, SU], start: '09:00', hours: 8, exclusions: [{exclusion}]}}"
    problem = the_refusal(text(of=cluster(maintenance=maintenance)))
    assert problem.subject.endswith("tidepool:cluster.maintenance.exclusions[0].to")


def test_every_mistake_of_a_cluster_is_said_at_once() -> None:
    wrong = text(
        entry(capacity="{flex-start: 24h}"),
        entry(accelerator="v5p-16", zone="us-central1-a"),
        of=cluster(system="{machine_type: e2-standard-4}", cpu_pools=batch(maximum=0)),
    )
    assert len(refusals(wrong)) == 4


# Limits and money


QUOTA = "- {project: my-lab, zone: us-central2-b, generation: v4, chips: 40, kind: preemptible}\n"
RESERVATION = "- {name: lab, project: my-lab, zone: us-central2-b, generation: v4, chips: 40}\n"


@pytest.mark.parametrize(
    ("capacity", "counts"), [("spot", {"number": 3}), ("{flex-start: 24h}", {"buffer": 0, "maximum": 3})]
)
def test_slices_draw_on_the_preemptible_quota_at_their_maximum(capacity: str, counts: dict[str, int]) -> None:
    problem = the_refusal(text(entry(**{"number": None} | counts, capacity=capacity), quotas=QUOTA))
    assert "3 x 16 = 48" in problem.rule


def test_slices_draw_on_the_reservation_that_they_name() -> None:
    problem = the_refusal(text(entry(capacity="{reserved: lab}", number=3), reservations=RESERVATION))
    assert "ci/v4-32-reserved 3 x 16 = 48" in problem.rule
    elsewhere = RESERVATION.replace("us-central2-b, generation: v4", "us-central1-a, generation: v5p")
    assert len(refusals(text(entry(capacity="{reserved: lab}"), reservations=elsewhere))) == 2


def test_slices_of_another_stack_count_against_the_same_quota() -> None:
    other = sibling(stack="nightly", pools="[]\n", cluster=cluster(name="second"), slices=entry(number=1))
    problem = the_refusal(text(entry(number=2), quotas=QUOTA), siblings=(other,))
    assert "nightly/v4-32-spot 1 x 16 = 16" in problem.rule


def test_money_counts_slices_at_their_maximum_and_reserved_ones_not_at_all() -> None:
    one = cost_of(parsed(text(entry(number=1), pools="[]\n"))).declared.hour
    scaled = cost_of(parsed(text(entry(number=None, buffer=1, maximum=3), pools="[]\n"))).declared.hour
    reserved = parsed(text(entry(capacity="{reserved: lab}", number=2), reservations=RESERVATION, pools="[]\n"))
    assert one.over(Decimal(0))
    assert scaled == one * Decimal(3)
    assert cost_of(reserved).declared.hour.exact == 0
    flexible = entry(capacity="{flex-start: 24h}", number=None, buffer=0, maximum=1)
    assert cost_of(parsed(text(flexible, pools="[]\n"))).unpriced == ("v4-32-flex-start",)


def test_account_of_a_quota_names_pools_and_slices_alike() -> None:
    vms = pool(name="train-v4", accelerator="v4-8", zones="{us-central2-b: 2}", capacity="preemptible")
    config = parsed(text(entry(number=2), pools=vms, quotas=QUOTA))
    (account,) = ledger.accounts(config)
    assert account.sum_shown() == "ci/train-v4 2 x 4 = 8, ci/v4-32-spot 2 x 16 = 32, together 40 of 40 chips"


def test_cluster_of_another_stack_is_refused_and_one_of_another_region_is_not() -> None:
    other = sibling(stack="second", cluster=cluster(), slices=entry(accelerator="v4-8"), pools="[]\n")
    problem = the_refusal(text(), siblings=(other,))
    assert problem.rule == "stack second declares cluster train of project my-lab in us-central2"
    of = cluster(region="us-central1", zones="[us-central1-a]")
    assert parsed(text(entry(accelerator="v5p-8", zone="us-central1-a"), of=of), siblings=(other,)).cluster is not None


def team(name: str = "rl", account: str = "") -> str:
    said = f", account: {account}@my-lab.iam.gserviceaccount.com" if account else ""
    return f"{{teams: [{{name: {name}{said}}}]}}\n"


@pytest.mark.parametrize(("mine", "theirs"), [("trainer", ""), ("", "trainer"), ("trainer", "trainer")])
def test_teams_of_two_stacks_whose_pods_google_cannot_tell_apart_are_refused(mine: str, theirs: str) -> None:
    elsewhere = {"cluster": cluster(name="second"), "slices": entry(accelerator="v4-8"), "pools": "[]\n"}
    other = sibling(stack="second", queues=team(account=theirs), **elsewhere)
    problem = the_refusal(text(queues=team(account=mine)), siblings=(other,))
    assert problem.subject.endswith("queues.teams[0].name")
    assert problem.rule == (
        "stack second has a team of this name in my-lab, and pods of both act as trainer@my-lab.iam.gserviceaccount.com"
    )


def test_teams_of_two_stacks_that_share_no_google_account_may_have_one_name() -> None:
    elsewhere = {"cluster": cluster(name="second"), "slices": entry(accelerator="v4-8"), "pools": "[]\n"}
    trainer = team(account="trainer")
    for mine, theirs in (
        (team(), sibling(stack="second", queues=team(), **elsewhere)),
        (trainer, sibling(stack="second", queues=team("data", "trainer"), **elsewhere)),
        (trainer, sibling(stack="second", project="another-lab", queues=trainer, **elsewhere)),
    ):
        assert parsed(text(queues=mine), siblings=(theirs,)).queues is not None
