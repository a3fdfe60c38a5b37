"""Whether the fleet can give what workflows ask: every misfit with its words, and none where all fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.demand import WRITE, CacheFolders, Code, Demand, ImageUse, Start
from infra.model.fit import misfits
from infra.model.partial import UnsureStack
from infra.model.schema import StackConfig
from infra.model.stack import read_sibling
from infra.model.unclaimed import Misfit, MisfitKind
from tests.model.demanding import BRANCH, FORK, LAB, PUSH, asking, demand, fleet, found, member, said
from tests.model.given import pool, sibling, stack_text


def one(misfits: tuple[Misfit, ...]) -> Misfit:
    assert len(misfits) == 1, said(misfits)
    return misfits[0]


def test_what_fits_is_not_told() -> None:
    assert found(demand()) == ()


def test_labels_meet_whatever_their_case() -> None:
    assert found(demand("Self-Hosted", "Linux", "X64", "TPU-CI")) == ()


# A runner for every job


def test_a_mistyped_label_is_told_with_the_one_that_was_meant() -> None:
    misfit = next(each for each in found(demand("self-hosted", "tpu-c1")) if each.kind is MisfitKind.RUNNER)
    assert misfit.subject == f"{LAB} .github/workflows/tests.yaml tpu"
    assert "runs on [self-hosted, tpu-c1], and no pool has the label tpu-c1" in misfit.reason
    assert misfit.fix.startswith("tpu-ci, or a pool with the label tpu-c1")
    assert (misfit.stops, misfit.stacks) == (True, ("ci",))


def test_a_mistyped_runner_of_githubs_is_told_with_the_one_that_was_meant() -> None:
    misfit = next(each for each in found(demand(), demand("ubuntu-24.40", job="other")))
    assert "no pool has the label ubuntu-24.40" in misfit.reason
    assert "ubuntu-24.04" in misfit.fix


def test_a_pool_that_is_gone_is_named_by_the_job_that_needs_it() -> None:
    job = demand("self-hosted", "tpu-v4", job="v4")
    assert found(demand(), job, stacks=(fleet(member(name="tpu-v4")),)) == ()
    assert "no pool has the label tpu-v4" in one(found(demand(), job)).reason


def test_labels_that_no_pool_has_together_are_told() -> None:
    stacks = (fleet(member(name="tpu-v4", labels="[v4]")),)
    reasons = said(found(demand(), demand("tpu-ci", "v4", job="both"), stacks=stacks))
    assert "no pool has all of these labels" in reasons


def test_a_pool_takes_jobs_of_the_repositories_that_it_serves_alone() -> None:
    misfit = one(found(demand(), demand(repository="lab/other")))
    assert misfit.reason == "runs on [self-hosted, tpu-ci], and pool tpu-ci does not serve lab/other"
    assert misfit.fix == "serves: [lab/other] in pool tpu-ci, or no such job in .github/workflows/tests.yaml"


@pytest.mark.parametrize(
    "wrong",
    [demand("lost"), demand(repository="lab/other"), demand("ubuntu-24.04", vm="lost")],
    ids=lambda each: each.job,
)
def test_a_job_that_finds_nothing_is_told_with_the_file_to_drop_it_from(wrong: Demand) -> None:
    misfit = one(found(demand(), wrong.model_copy(update={"source": "workflows/spec/lab.yaml"})))
    assert misfit.fix.endswith("or no such job in workflows/spec/lab.yaml, then ./tidepool workflows --write")


# Workflows of others


@given(
    jobs=st.lists(
        st.builds(
            demand,
            st.sampled_from(["tpu-ci", "lost", "ubuntu-24.04"]),
            repository=st.sampled_from(["other/one", "Other/two", "another/one"]),
            vm=st.sampled_from([None, "lost"]),
            timeout_minutes=st.sampled_from([None, 9, 99999]),
            starts=st.sampled_from([(PUSH,), (FORK,)]),
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(deadline=None, max_examples=40)
def test_workflows_of_owners_that_no_stack_names_stop_nothing_and_are_warned_of_once_a_repository(
    jobs: list[Demand],
) -> None:
    told = found(demand(), *(each.model_copy(update={"source": "workflows/spec/other.yaml"}) for each in jobs))
    assert [each.subject for each in told] == sorted({each.repository for each in jobs})
    for each in told:
        assert (each.kind, each.stops) == (MisfitKind.RUNNER, False)
        assert f"where it is another lab's, remove workflows/spec/other.yaml, then {WRITE}" in each.fix


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


def test_a_pool_without_a_vm_takes_no_job() -> None:
    stacks = (fleet(member(name="empty", zones="{us-west4-a: 0}")),)
    misfit = one(found(demand(), demand("empty", job="lost"), stacks=stacks))
    assert "pool empty has no VM that stands" in misfit.reason


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


def test_a_runner_group_is_githubs_to_resolve() -> None:
    assert found(demand(), demand("no-such-label", job="grouped", group="tpus")) == ()


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


def test_a_vm_for_a_run_is_made_as_a_pool_that_exists() -> None:
    run = demand("ubuntu-24.04", job="train", vm="train-v4", image=None, cache_folder=None)
    stacks = (fleet(), sibling(stack="training", pools=pool(name="train-v4", zones="{us-west4-a: 0}")))
    assert found(demand(), run, stacks=stacks) == ()
    misfit = one(found(demand(), run))
    assert "makes a VM as pool train-v4 says, and no stack has a pool of that name" in misfit.reason


def test_a_pool_that_could_not_be_read_is_no_reason_to_call_a_label_unknown() -> None:
    stack = read_sibling(stack_text(pools=pool(label="two words")).encode(), stack="ci")
    assert isinstance(stack, UnsureStack)
    assert MisfitKind.RUNNER not in {each.kind for each in found(demand(), stacks=(stack,))}


# A user for every pool


def test_a_pool_that_no_job_asks_for_is_warned_of() -> None:
    misfit = one(found(demand(), stacks=(fleet(member(name="idle")),)))
    assert (misfit.kind, misfit.subject, misfit.stops) == (MisfitKind.USER, "pool idle", False)


def test_a_pool_that_serves_nobody_is_used_by_the_run_that_makes_its_vm_so() -> None:
    stacks = (fleet(pool(name="train")),)
    assert one(found(demand(), stacks=stacks)).subject == "pool train"
    run = demand("ubuntu-24.04", job="train", vm="train")
    assert found(demand(), run, stacks=stacks) == ()


# Images, caches, regions


def test_a_job_expects_an_image_that_its_pool_runs() -> None:
    assert found(demand(image="ghcr.io/lab/tests")) == ()
    misfit = one(found(demand(image="ghcr.io/lab/other")))
    assert misfit.reason == "expects the image other, and pool tpu-ci runs tests"
    assert "./tidepool images promote other --pool tpu-ci" in misfit.fix


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


def test_an_image_of_some_regions_alone_is_looked_for_in_those() -> None:
    use = ImageUse(name="tests", stack="ci", repository="images", regions=("us-east1",), pools=("tpu-ci",))
    assert "runs in us-west4" in one(found(demand(), images=(use,))).reason


@pytest.mark.parametrize(("registry", "fits"), [("us-west4", True), ("us", True), ("us-east1", False), ("eu", False)])
def test_a_job_reads_its_image_from_its_own_region(registry: str, fits: bool) -> None:
    told = found(demand(image=f"{registry}-docker.pkg.dev/my-lab/images/tests"))
    assert (told == ()) is fits
    if not fits:
        assert f"reads the image tests from {registry}, and pool tpu-ci has VMs in us-west4" in one(told).reason


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


def test_a_job_that_looks_elsewhere_for_the_cache_is_told() -> None:
    assert "looks for uv's cache in /tmp/uv" in one(found(demand(cache_folder="/tmp/uv"))).reason


# Limits


def test_a_limit_within_a_job_is_shorter_than_the_jobs() -> None:
    misfit = one(found(demand(inner_minutes=15)))
    assert misfit.reason == "stops what runs within after 15 min, and GitHub stops the job after 15 min"


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


def test_a_run_on_githubs_runners_ends_within_six_hours() -> None:
    stacks = (fleet(pool(name="train")),)
    run = demand("ubuntu-24.04", job="train", vm="train", timeout_minutes=361, inner_minutes=None)
    assert "a runner of GitHub's works for 6.0 h at most" in one(found(demand(), run, stacks=stacks)).reason


# For all


@st.composite
def _fleets(draw: st.DrawFn) -> tuple[StackConfig, StackConfig]:
    """Two versions of a stack that differ in counts, zones, order and capacity alone."""
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=4, unique=True))

    def version() -> StackConfig:
        zones = st.dictionaries(st.sampled_from(["us-west4-a", "us-east1-c"]), st.integers(1, 9), min_size=1)
        pools = [
            member(
                name=f"tpu-{name}",
                zones="{" + ", ".join(f"{zone}: {count}" for zone, count in draw(zones).items()) + "}",
                capacity=draw(st.sampled_from(["spot", "preemptible", "on-demand"])),
                unlisted_zone="{us-east1-c: It works.}",
            )
            for name in draw(st.permutations(names))
        ]
        return fleet("".join(pools))

    return version(), version()


@given(_fleets())
@settings(deadline=None, max_examples=40)
def test_an_edit_that_keeps_labels_trust_and_repositories_keeps_every_job_its_runner(
    versions: tuple[StackConfig, StackConfig],
) -> None:
    jobs = [demand(each.label, job=each.name) for each in versions[0].pools]
    for version in versions:
        assert misfits((version,), asking(*jobs)) == ()


@given(st.sampled_from(["tpu-ci", "tpu-v4", "tpu-v5p"]), st.data())
@settings(deadline=None, max_examples=40)
def test_a_label_that_is_mistyped_anywhere_never_passes(label: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(label) - 1))
    typo = label[:place] + "x" + label[place + 1 :]
    stacks = (fleet(member(name="tpu-v4") + member(name="tpu-v5p")),)
    jobs: tuple[Demand, ...] = tuple(demand(each, job=each) for each in ("tpu-ci", "tpu-v4", "tpu-v5p"))
    told = found(*jobs, demand(typo, job="typo"), stacks=stacks)
    misfit = one(told)
    assert misfit.kind is MisfitKind.RUNNER
    assert label in misfit.fix
