"""Whether the fleet can give what workflows ask: every misfit with its words, and none where all fits."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.demand import CacheFolders, Code, Demand, ImageUse, Start
from infra.model.fit import misfits
from infra.model.partial import UnsureStack
from infra.model.stack import read_sibling
from infra.model.unclaimed import Misfit, MisfitKind
from tests.model.demanding import BRANCH, FORK, LAB, PUSH, asking, demand, fleet, found, member, said
from tests.model.given import pool, stack_text


def one(misfits: tuple[Misfit, ...]) -> Misfit:
    assert len(misfits) == 1, said(misfits)
    return misfits[0]


TRAIN = pool(name="train")


@pytest.mark.parametrize(
    ("jobs", "pools", "reason", "fix"),
    [
        ([demand()], "", "", ""),
        ([demand("Self-Hosted", "Linux", "X64", "TPU-CI")], "", "", ""),
        (
            [demand("tpu-c1")],
            "",
            "runs on [tpu-c1], and no pool has the label tpu-c1",
            "tpu-ci, or a pool with the label",
        ),
        ([demand("ubuntu-24.40")], "", "no pool has the label ubuntu-24.40", "ubuntu-24.04"),
        ([demand("self-hosted", "tpu-v4")], member(name="tpu-v4"), "", ""),
        ([demand("self-hosted", "tpu-v4")], "", "no pool has the label tpu-v4", ""),
        ([demand("tpu-ci", "v4")], member(name="tpu-v4", labels="[v4]"), "no pool has all of these labels", ""),
        (
            [demand(repository="lab/other")],
            "",
            "runs on [self-hosted, tpu-ci], and pool tpu-ci does not serve lab/other",
            "serves: [lab/other] in pool tpu-ci, or no such job in .github/workflows/tests.yaml",
        ),
        (
            [demand("lost", source="spec/lab.yaml")],
            "",
            "lost",
            "no such job in spec/lab.yaml, then ./tidepool workflows",
        ),
        ([demand("empty")], member(name="empty", zones="{us-west4-a: 0}"), "pool empty has no VM that stands", ""),
        ([demand("no-such-label", group="tpus")], "", "", ""),
        ([demand("ubuntu-24.04", vm="train")], TRAIN, "", ""),
        ([demand("ubuntu-24.04", vm="lost")], "", "a VM as pool lost says, and no stack has a pool of that name", ""),
        ([], TRAIN, "", "train"),
        ([demand(image="ghcr.io/lab/tests")], "", "", ""),
        (
            [demand(image="ghcr.io/lab/other")],
            "",
            "expects the image other, and pool tpu-ci runs tests",
            "./tidepool images promote other --pool tpu-ci",
        ),
        ([demand(image="us-docker.pkg.dev/my-lab/images/tests")], "", "", ""),
        (
            [demand(image="us-east1-docker.pkg.dev/my-lab/images/tests")],
            "",
            "reads the image tests from us-east1, and pool tpu-ci has VMs in us-west4",
            "",
        ),
        ([demand(image="eu-docker.pkg.dev/my-lab/images/tests")], "", "reads the image tests from eu", ""),
        ([demand(cache_folder="/tmp/uv")], "", "looks for uv's cache in /tmp/uv", ""),
        (
            [demand(inner_minutes=15)],
            "",
            "stops what runs within after 15 min, and GitHub stops the job after 15 min",
            "",
        ),
        (
            [demand("ubuntu-24.04", vm="train", timeout_minutes=361, inner_minutes=None)],
            TRAIN,
            "a runner of GitHub's works for 6.0 h at most",
            "",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_what_was_meant(jobs: list[Demand], pools: str, reason: str, fix: str) -> None:
    told = [each for each in found(demand(job="usual"), *jobs, stacks=(fleet(pools),)) if each.stops or not jobs]
    if reason or fix:
        misfit = one(tuple(told))
        assert reason in misfit.reason
        assert fix in f"{misfit.fix} {misfit.subject}"
        assert misfit.stacks == ("ci",)
    else:
        assert told == []


# Workflows of others


def test_an_owner_is_named_by_the_repositories_that_google_lets_in_too() -> None:
    job = demand("lost", repository="other/engine")
    assert not one(found(demand(), job)).stops
    let_in = """\
    repository: lab/tidepool
    environments: [apply]
    run_makers: [{repository: other/tests, pool: tpu-ci, workflows: [nightly.yaml]}]
    """
    assert one(found(demand(), job, stacks=(fleet(github=let_in),))).stops


def test_a_pool_for_a_repository_without_a_specification_is_not_said_to_be_idle() -> None:
    misfit = one(found(stacks=(fleet(),)))
    assert misfit.reason.startswith(f"no specification is of {LAB}, so nobody knows whether a job asks for it")
    assert not misfit.stops


@pytest.mark.parametrize(
    ("trust", "start", "fits"),
    [
        ("fork", FORK, True),
        ("fork", BRANCH, True),
        ("fork", PUSH, True),
        ("member", FORK, False),
        ("member", BRANCH, True),
        ("member", PUSH, True),
        ("protected", FORK, False),
        ("protected", BRANCH, False),
        ("protected", PUSH, True),
    ],
)
def test_a_pool_runs_the_code_that_it_trusts(trust: str, start: Start, fits: bool) -> None:
    stacks = (fleet(member(name="pool", trust=trust)),)
    told = found(demand(), demand("pool", job="job", starts=(start,)), stacks=stacks)
    assert (told == ()) is fits
    if not fits:
        assert f"on pool pool, whose trust is {trust}" in one(told).reason


def test_a_label_that_pools_share_asks_trust_of_each() -> None:
    stacks = (fleet(member(name="narrow", trust="protected", labels="[tpu]")),)
    told = found(demand(), demand("narrow", job="main", starts=(PUSH,)), demand("tpu", job="any"), stacks=stacks)
    assert "on pool narrow, whose trust is protected" in one(told).reason


@pytest.mark.parametrize("trust", ["fork", "member", "protected"])
@pytest.mark.parametrize("code", list(Code))
def test_a_vm_for_a_run_is_of_a_pool_that_trusts_the_code(trust: str, code: Code) -> None:
    stacks = (fleet(member(name="made", trust=trust)),)
    fits = {Code.FORK: ("fork",), Code.BRANCH: ("fork", "member"), Code.MAIN: ("fork", "member", "protected")}
    told = found(demand(), demand("ubuntu-24.04", job="job", vm="made", vm_code=code), stacks=stacks)
    assert (told == ()) is (trust in fits[code])
    if told:
        misfit = one(told)
        assert f"on a VM made as pool made says, whose trust is {trust}" in misfit.reason
        assert misfit.stops


def test_runs_of_forks_and_of_main_are_made_as_pools_of_their_own() -> None:
    """They would share an account, by which one could write what another leaves."""
    stacks = (fleet(member(name="forks", trust="fork") + member(name="nights", trust="fork")),)
    night = demand("ubuntu-24.04", job="night", vm="nights")
    asked = demand("ubuntu-24.04", job="asked", vm="nights", vm_code=Code.FORK)
    assert found(demand(), night, asked.model_copy(update={"vm": "forks"}), stacks=stacks) == ()
    misfit = one(tuple(each for each in found(demand(), night, asked, stacks=stacks) if each.stops))
    assert misfit.subject == asked.subject
    assert f"on a VM made as pool nights, as which {night.subject} runs the lab's" in misfit.reason
    assert misfit.fix == "a pool of its own with trust: fork, as fork_pool of tidepool:runs in stack ci"


def test_a_pool_that_could_not_be_read_is_no_reason_to_call_a_label_unknown() -> None:
    stack = read_sibling(stack_text(pools=pool(label="two words")).encode(), stack="ci")
    assert isinstance(stack, UnsureStack)
    assert MisfitKind.RUNNER not in {each.kind for each in found(demand(), stacks=(stack,))}


# A user for every pool


# Images, caches, regions


def test_the_image_that_was_promoted_counts_where_the_record_was_read() -> None:
    uses = (
        ImageUse(name="tests", stack="ci", repository="images", pools=("tpu-ci",)),
        ImageUse(name="other", stack="ci", repository="images", pools=("tpu-ci",)),
    )
    demands = asking(demand(image="ghcr.io/lab/other"), images=uses)
    assert misfits((fleet(),), demands) == ()
    assert "pool tpu-ci was given tests" in one(misfits((fleet(),), demands, promoted={"tpu-ci": "tests"})).reason


def test_every_region_of_a_pool_has_its_image() -> None:
    registries = "regions: [us-east1]\nrepositories:\n- {name: images}\n"
    misfit = one(found(demand(), stacks=(fleet(registries=registries),)))
    assert misfit.reason == "runs in us-west4 with pool tpu-ci, where no registry has the image tests"
    assert misfit.fix == "us-west4 in tidepool:registries of stack ci"


@pytest.mark.parametrize(
    "wrong",
    [
        {"cache": CacheFolders(images="/opt/uv/cache", start_up="/var/cache/uv")},
        {"cache": CacheFolders(images="/var/cache/uv", start_up="/opt/uv/cache")},
    ],
)
def test_start_up_images_and_jobs_have_one_cache_folder(wrong: dict[str, Any]) -> None:
    misfit = one(found(demand(), **wrong))
    assert misfit.kind is MisfitKind.IMAGE
    assert wrong["cache"].start_up in misfit.reason
    assert wrong["cache"].images in misfit.reason


# Limits


@pytest.mark.parametrize(
    ("capacity", "longest"), [("preemptible", 24 * 60), ("spot", 5 * 24 * 60), ("on-demand", 5 * 24 * 60)]
)
def test_a_job_ends_within_what_its_runner_allows(capacity: str, longest: int) -> None:
    stacks = (fleet(member(name="pool", capacity=capacity)),)

    def told(minutes: int | None) -> tuple[Misfit, ...]:
        return found(demand(), demand("pool", job="long", timeout_minutes=minutes, starts=(PUSH,)), stacks=stacks)

    assert told(longest) == ()
    assert f"timeout-minutes: {longest} or less" in one(told(longest + 1)).fix
    assert "has no time limit" in one(told(None)).reason


# For all
