"""How long jobs wait for a VM, by arithmetic: waves, whoever asked first, and room that others leave."""

from __future__ import annotations

from infra.model.demand import Code, Demand, Start
from infra.model.offers import Offers
from infra.model.waits import Wait, shares, waits
from tests.model.demanding import asking, demand, fleet, found, member
from tests.model.given import pool


def legs(count: int, event: str = "push") -> tuple[Start, ...]:
    return (Start(event=event, code=Code.BRANCH if event == "pull_request" else Code.MAIN, legs=count),)


def of(vms: int) -> Offers:
    return Offers.of((fleet(member(name="busy", zones=f"{{us-west4-a: {vms}}}")),))


def on_tpu(job: str, count: int, **fields: object) -> Demand:
    return demand("busy", job=job, **{"starts": legs(count)} | fields)


def wait(vms: int, *demands: Demand) -> Wait:
    """Of the last of these jobs."""
    (told,) = (each for each in waits(asking(*demands), of(vms)) if each.demand is demands[-1])
    return told


def test_whoever_asks_last_waits_for_those_before() -> None:
    told = wait(2, on_tpu("first", 4, timeout_minutes=10), on_tpu("second", 1, timeout_minutes=5))
    assert (told.first, told.last, told.others, told.vms) == (20, 20, 4, 2)


def test_a_job_that_asks_for_less_leaves_a_vm_for_the_other() -> None:
    told = wait(2, on_tpu("first", 4, timeout_minutes=10, max_parallel=1), on_tpu("second", 1, timeout_minutes=5))
    assert told.last == 0
    assert str(told).endswith("beside 4 legs of other jobs; it starts at once")


def test_legs_of_the_job_on_other_pools_count_where_it_says_how_many_run_at_once() -> None:
    job = on_tpu("both", 2, timeout_minutes=10, max_parallel=1)
    other = demand("tpu-ci", job="both", starts=legs(3), timeout_minutes=10, max_parallel=1)
    told = next(each for each in waits(asking(other, job), of(4)) if each.pools == ("busy",))
    assert (told.first, told.last) == (30, 40)


def test_a_pull_request_that_waits_more_than_an_hour_is_warned_of_and_one_that_waits_a_day_is_stopped() -> None:
    stacks = (fleet(pool(name="busy", zones="{us-west4-a: 1}", serves="[lab/monorepo]")),)
    usual = demand()

    def kinds(count: int) -> list[tuple[str, bool]]:
        job = on_tpu("slow", count, starts=legs(count, "pull_request"), timeout_minutes=60)
        return [(each.kind.value, each.stops) for each in found(usual, job, stacks=stacks)]

    assert kinds(2) == []
    assert kinds(3) == [("job-waits", False)]
    assert kinds(26) == [("job-waits", True)]


def test_priorities_are_told_as_what_github_really_does() -> None:
    demands = asking(on_tpu("first", 1), on_tpu("others", 6, max_parallel=2))
    (told,) = shares(demands, of(6))
    assert told == (
        "busy: tests.yaml first first. GitHub knows no priorities and gives a free runner to whoever asked first, "
        "so the others ask for less: tests.yaml others takes 2 of 6 VMs at once"
    )
