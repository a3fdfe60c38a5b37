"""What an edit may do without a word: every key is named, and what nobody can have meant by accident is held."""

from __future__ import annotations

import pytest

from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning
from tests.model.given import POOL, pool, sibling, stack_text
from tests.preview.two_versions import TODAY, marked, meaning, reading, told

SERVING = POOL + "  serves: [my-lab/code]\n"
REGISTRIES = "regions: [us-central1, us-east1]\nrepositories:\n  - name: images\n"
GITHUB = "repository: my-lab/tidepool\nenvironments: [apply]\n"
SECRETS = "- {name: key, readers: []}\n"


def stopped(found: Meaning) -> list[tuple[str, str]]:
    return [(each.rule, each.subject) for each in found.findings if each.stops]


def grown(count: int, **sections: str) -> str:
    return stack_text(pools=POOL.replace("us-west4-a: 2", f"us-west4-a: {count}"), **sections)


def accepted(rule: str, subject: str, day: str = "2026-12-01") -> str:
    return f"- {{rule: {rule}, subject: '{subject}', reason: Agreed with the owner., expires: {day}}}\n"


# Growth


@pytest.mark.parametrize(
    ("before", "after", "held"), [(2, 18, False), (2, 19, True), (20, 80, False), (20, 81, True), (100, 165, True)]
)
def test_an_edit_that_grows_the_fleet_much_is_held_at_its_limits(before: int, after: int, held: bool) -> None:
    """Of VMs with four chips: 64 chips more always pass, then four times as many, and never more than 256 more."""
    assert stopped(meaning(grown(before), grown(after))) == ([("growth", "chips")] if held else [])


WINDOW = "[{{name: w, start: 0 22 * * *, duration: {length}, time_zone: UTC, adds: {{us-west4-a: {adds}}}{more}}}]"
OVER = "a month, over the $15,000.00 allowed"
RUNS = "pool: tpu-ci\naccelerators: [v5litepod-8]\nzones: [us-west4-a]\nper_day: 1000\nat_once: {}\n"


def windowed(adds: int, length: str = "23h", more: str = "") -> str:
    return stack_text(pools=pool(name="tpu-ci", windows=WINDOW.format(adds=adds, length=length, more=more)))


def running(at_once: int) -> str:
    return stack_text(runs=f"{RUNS.format(at_once)}time_to_live_minutes: 60\n")


def dear(count: int, capacity: str = "spot", fallback: str = "[]") -> str:
    zones = f"{{us-west4-a: {count}}}"
    return stack_text(pools=pool(name="tpu-ci", zones=zones, capacity=capacity, fallback=fallback))


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        (windowed(1), windowed(9000), "chips"),
        (windowed(1, "1h"), windowed(9000, "1h"), "chips"),
        (windowed(1), windowed(17), ""),
        (windowed(1), windowed(1, "2h"), ""),
        (windowed(9000, more=", until: 2026-11-19"), windowed(9000), "chips"),
        (windowed(60, "1h"), windowed(60), "dollars"),
        (dear(0), windowed(60), ""),
        (running(3), running(1000), "chips"),
        (running(3), running(11), ""),
        (dear(60), dear(60, "on-demand"), "dollars"),
        (dear(60), dear(60, fallback="[{zone: us-west4-a, capacity: on-demand}]"), "dollars"),
        (dear(20), dear(20, "on-demand"), ""),
        (dear(60, "on-demand"), dear(60), ""),
    ],
    ids=[
        "window adds", "of an hour", "a few", "shorter", "that was over", "longer", "new window", "runs", "few runs",
        "capacity", "fallback", "a little", "cheaper",
    ],
)  # fmt: skip
def test_growth_is_that_of_the_worst_case_in_chips_and_in_dollars(before: str, after: str, held: str) -> None:
    found = [each.subject for each in meaning(before, after).findings if each.rule == "growth"]
    assert found == ([held] if held else [])


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (
            dear(10, fallback="[{zone: us-west4-a, capacity: on-demand}]"),
            f"in the worst case list prices come to $35,040.00 {OVER}; as declared, $14,016.00",
        ),
        (dear(10), ""),
        (dear(11), f"list prices come to $15,417.60 {OVER}"),
        (
            running(16),
            f"in the worst case list prices come to $47,654.40 {OVER}; as declared, $2,803.20",
        ),
        (windowed(40, "8h"), f"list prices come to $20,089.60 {OVER}"),
        (windowed(40, "8h", ", until: 2026-11-20"), ""),
    ],
    ids=["fallback", "fits", "a pool", "runs", "a window", "a window that is over"],
)
def test_the_budget_is_about_the_worst_case(after: str, reason: str) -> None:
    found = meaning(after, f"{after}  tidepool:budget: {{usd_per_month: 15000}}\n")
    assert [each.reason for each in found.findings if each.rule == "within-budget"] == ([reason] if reason else [])
    assert found.money.to_json()["worst"]["after"]["usdPerMonth"] is not None


def test_a_word_in_the_pull_request_lets_growth_pass_and_is_told() -> None:
    found = meaning(grown(2), grown(2000, exceptions=accepted("growth", "chips")))
    assert not stopped(found)
    assert "Agreed with the owner." in told(found)


def test_a_word_that_is_over_is_only_a_warning_and_covers_no_second_growth() -> None:
    old = accepted("growth", "chips", "2026-11-20")
    later = meaning(grown(200, exceptions=old), grown(201, exceptions=old))
    assert [(each.rule, each.level.value) for each in later.findings] == [("exception-expired", "warn")]
    assert stopped(meaning(grown(2, exceptions=old), grown(2000, exceptions=old))) == [("growth", "chips")]


# Whose code


def test_a_repository_of_a_stranger_is_held() -> None:
    found = meaning(stack_text(pools=SERVING), stack_text(pools=SERVING.replace("]", ", evil/repo]")))
    assert stopped(found) == [("foreign-repository", "pools[tpu-ci].serves evil/repo")]


def test_two_files_of_one_edit_do_not_make_a_stranger_known_to_each_other() -> None:
    known, evil = SERVING, SERVING.replace("my-lab/code", "evil/repo")
    other = sibling(pools=evil.replace("tpu-ci", "night"))
    earlier = sibling(pools=known.replace("tpu-ci", "night"))
    base = reading(stack_text(pools=known), siblings=(earlier,))
    head = reading(stack_text(pools=evil), siblings=(other,))
    assert ("foreign-repository", "pools[tpu-ci].serves evil/repo") in stopped(explain(base, head, Facts(today=TODAY)))


def test_a_labs_first_stack_serves_whom_it_says() -> None:
    assert not stopped(meaning(None, stack_text(pools=SERVING)))
    held = meaning(None, stack_text(pools=SERVING.replace("my-lab/", "evil/"), github=GITHUB))
    assert [rule for rule, _ in stopped(held)] == ["foreign-repository"]


# What an apply refuses


@pytest.mark.parametrize(
    ("before", "after", "subject"),
    [
        ({"registries": REGISTRIES}, {"registries": REGISTRIES.replace(", us-east1", "")}, "registry region us-east1"),
        ({"secrets": SECRETS}, {}, "secret key"),
        ({"github": GITHUB}, {}, "workload identity pool tidepool-ci"),
    ],
)
def test_what_an_apply_would_refuse_is_held_unless_somebody_says_that_it_is_settled(
    before: dict[str, str], after: dict[str, str], subject: str
) -> None:
    assert stopped(meaning(stack_text(**before), stack_text(**after))) == [("apply-refuses", subject)]
    assert not stopped(
        meaning(stack_text(**before), stack_text(**after, exceptions=accepted("apply-refuses", subject)))
    )


def test_a_move_to_another_project_is_held() -> None:
    before = stack_text()
    assert stopped(meaning(before, before.replace("project: my-lab", "project: other-lab"))) == [
        ("apply-refuses", "project my-lab")
    ]


def test_the_removal_of_a_stack_is_held_unless_the_file_itself_said_that_it_goes() -> None:
    assert stopped(meaning(stack_text(), None)) == [("apply-refuses", "stack ci")]
    told = stack_text(exceptions=accepted("apply-refuses", "stack ci") + accepted("freeze", "x"))
    assert meaning(told, None).findings == ()


# Keys


def test_every_key_that_differs_is_named_with_both_values() -> None:
    before = stack_text(pools=SERVING, runners="job_minutes: 60\n", controller="share: 0.5\n")
    after = stack_text(
        pools=SERVING.replace("member", "protected").replace("us-west4-a: 2", "us-west4-a: 3"),
        runners="job_minutes: 30\n",
        controller="share: 0.5\n",
        budget="usd_per_month: 99999\n",
        vm_labels="team: x\n",
    )
    found = meaning(before, after)
    assert {each.key: (each.value.before, each.value.after) for each in found.keys} == {
        "vm_labels.team": (None, "x"),
        "pools[tpu-ci].zones.us-west4-a": ("2", "3"),
        "pools[tpu-ci].trust": ("member", "protected"),
        "runners.job_minutes": ("60", "30"),
        "budget": (None, "usd_per_month 99999, thresholds 0.5, 0.9, 1.0"),
    }
    for rendered in (told(found), marked(found)):
        assert "job" in rendered
        assert "60 -> 30" in rendered


def test_a_pool_that_moves_in_the_file_changes_no_key() -> None:
    one, other = pool(name="a"), pool(name="b")
    assert [each.key for each in meaning(stack_text(pools=one + other), stack_text(pools=other + one)).keys] == []
