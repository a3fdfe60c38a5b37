"""Who of GitHub may act as which account: what the ci stack declares, and what a stack file may say of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from infra.components.federation import ROLE
from infra.model import names
from infra.model.errors import ConfigError
from infra.model.federation import RunMaker, condition, result_writers, run_makers
from infra.model.grants import ACTS_AS
from infra.model.stack import load_stack, parse_stack
from tests.program.stacks import edited, text_of, unedited
from tests.synthetic_lab import the_lab

GITHUB = "    repository: marin-community/tidepool\n"
ENVIRONMENTS = "    environments: [apply, apply-after-approval]\n"
POOL = "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/tidepool-ci"
HERE = "marin-community/tidepool"


def members_of(account: str) -> set[str]:
    grants = [g for g in unedited("ci").of("IAMMember") if f"/{account}@" in g.inputs["serviceAccountId"]]
    assert {grant.inputs["role"] for grant in grants} == {ROLE}
    return {grant.inputs["member"].removeprefix(POOL) for grant in grants}


def attribute_condition() -> str:
    return unedited("ci").one("WorkloadIdentityPoolProvider").inputs["attributeCondition"]


def test_only_the_main_branch_in_a_named_environment_of_this_repository_deploys() -> None:
    assert members_of("tidepool-deployer") == {
        f"/attribute.deployment/{HERE}/apply/refs/heads/main",
        f"/attribute.deployment/{HERE}/apply-after-approval/refs/heads/main",
    }


MONOREPO = "marin-community/marin"
IMAGES = {
    "repository": MONOREPO,
    "ref": "refs/heads/main",
    "event_name": "push",
    "workflow_ref": f"{MONOREPO}/.github/workflows/docker-images.yaml@refs/heads/main",
    "sub": f"repo:{MONOREPO}:ref:refs/heads/main",
}
PULL = {
    "ref": "refs/pull/1/merge",
    "event_name": "pull_request",
    "workflow_ref": f"{MONOREPO}/.github/workflows/docker-images.yaml@refs/pull/1/merge",
}


def is_let_in(claims: Mapping[str, str], said: str = "") -> bool:
    """What the provider's condition says of a token; of CEL it uses what Python spells alike but for two operators."""
    said = (said or attribute_condition()).replace("&&", "and").replace("||", "or")
    return eval(said, {"__builtins__": {}}, {"assertion": SimpleNamespace(**claims)})


def acts_as_image_builder(claims: Mapping[str, str]) -> bool:
    return is_let_in(claims) and f"/attribute.workflow/{claims['workflow_ref']}" in members_of(
        "tidepool-ci-image-builder"
    )


def test_the_monorepos_workflow_of_images_acts_on_main() -> None:
    assert acts_as_image_builder(IMAGES)
    assert acts_as_image_builder(IMAGES | {"event_name": "schedule"})
    assert acts_as_image_builder(IMAGES | {"event_name": "workflow_dispatch"})


@pytest.mark.parametrize(
    "other",
    [
        PULL,
        PULL | {"event_name": "pull_request_target", "ref": "refs/heads/main"},
        {"event_name": "pull_request_target"},
        {"event_name": "workflow_run"},
        {"ref": "refs/heads/topic"},
        {"workflow_ref": f"{MONOREPO}/.github/workflows/levanter-tests.yaml@refs/heads/main"},
        {"workflow_ref": f"{MONOREPO}/.github/workflows/docker-images.yaml@refs/heads/topic"},
        {"repository": "stranger/marin"},
        {
            "repository": "stranger/marin",
            "workflow_ref": "stranger/marin/.github/workflows/docker-images.yaml@refs/heads/main",
        },
        {"repository": "marin-community/marin-fork"},
    ],
)
def test_nothing_else_of_the_monorepo_or_of_another_repository_is_let_in(other: Mapping[str, str]) -> None:
    assert not is_let_in({**IMAGES, **other})


OWN_IMAGES = {
    "repository": HERE,
    "repository_id": "1",
    "ref": "refs/heads/main",
    "event_name": "push",
    "workflow_ref": f"{HERE}/.github/workflows/docker-images.yaml@refs/heads/main",
}


def test_this_repositorys_workflow_of_images_acts_on_main() -> None:
    assert acts_as_image_builder(OWN_IMAGES)
    assert acts_as_image_builder(OWN_IMAGES | {"event_name": "workflow_dispatch"})


@pytest.mark.parametrize(
    "other",
    [
        {"event_name": "pull_request_target"},
        {"event_name": "workflow_run"},
        {"ref": "refs/heads/topic", "workflow_ref": OWN_IMAGES["workflow_ref"].replace("main", "topic")},
        {"ref": "refs/tags/v1", "workflow_ref": OWN_IMAGES["workflow_ref"].replace("heads/main", "tags/v1")},
        {"workflow_ref": OWN_IMAGES["workflow_ref"].replace("docker-images", "docker-images-legacy")},
        {"workflow_ref": OWN_IMAGES["workflow_ref"].replace(HERE, MONOREPO), "repository": "marin-community/other"},
    ],
    ids=str,
)
def test_nothing_else_of_this_repository_builds_images(other: Mapping[str, str]) -> None:
    assert not acts_as_image_builder({**OWN_IMAGES, **other})


def test_recipes_in_another_repository_than_the_stacks_are_let_in_by_their_workflow_of_images_alone() -> None:
    github = load_stack(the_lab(), "ci").github
    assert github
    elsewhere = github.model_copy(update={"repository": "lab/stacks", "repository_id": None, "run_makers": ()})
    said = condition(elsewhere, [HERE])
    assert is_let_in(OWN_IMAGES, said)
    for other in ({"event_name": "pull_request"}, {"ref": "refs/heads/topic"}, {"workflow_ref": f"{HERE}/x@y"}):
        assert not is_let_in({**OWN_IMAGES, **other}, said)


@pytest.mark.parametrize("event", ["pull_request", "push"])
def test_a_pull_request_or_another_workflow_of_this_repository_builds_no_image(event: str) -> None:
    elsewhere = "refs/pull/1/merge" if event == "pull_request" else "refs/heads/main"
    name = "docker-images.yaml" if event == "pull_request" else "apply.yaml"
    workflow = f"{HERE}/.github/workflows/{name}@{elsewhere}"
    claims = IMAGES | {"repository": HERE, "event_name": event, "ref": elsewhere, "workflow_ref": workflow}
    assert is_let_in(claims), "it may still preview or apply"
    assert not acts_as_image_builder(claims)


MAKERS = ("levanter-gpt2_small_itest.yaml", "levanter-launch_small_fast.yaml")
TWICE = f"{{repository: {MONOREPO}, pool: other, workflows: [{MAKERS[0]}]}}"
SERVING = ("sgl-project/sglang-jax", ("tpu-nightly.yaml", "tpu-pull-request.yaml"))


def makers() -> tuple[RunMaker, ...]:
    return run_makers(load_stack(the_lab(), "ci"))


def test_the_named_workflows_on_main_make_vms_each_as_the_account_of_its_repository_and_pool() -> None:
    acting = {(each.declared.repository, each.declared.pool): members_of(each.account_id) for each in makers()}
    assert acting == {
        (repository, pool): {
            f"/attribute.workflow/{repository}/.github/workflows/{file}@refs/heads/main" for file in files
        }
        for repository, pool, files in (
            (MONOREPO, "train-v4", MAKERS),
            (SERVING[0], "nightly-v6e", SERVING[1][:1]),
            (SERVING[0], "labelled-v6e", SERVING[1][1:]),
        )
    }
    claims = IMAGES | {
        "event_name": "workflow_dispatch",
        "workflow_ref": f"{MONOREPO}/.github/workflows/{MAKERS[0]}@refs/heads/main",
    }
    assert is_let_in(claims)
    assert not acts_as_image_builder(claims)
    assert not is_let_in(claims | {"event_name": "workflow_run"})
    assert not is_let_in(claims | {"ref": "refs/heads/topic"})
    assert not is_let_in(claims | {"repository": "stranger/marin"})


def test_the_named_workflows_on_main_keep_results_as_an_account_that_reaches_them_alone() -> None:
    (writer,) = (each for each in result_writers(load_stack(the_lab(), "ci")) if each.declared.repository == SERVING[0])
    files = ("test-results.yaml", *SERVING[1])
    assert members_of(writer.account_id) == {
        f"/attribute.workflow/{SERVING[0]}/.github/workflows/{file}@refs/heads/main" for file in files
    }
    claims = IMAGES | {
        "repository": SERVING[0],
        "event_name": "workflow_dispatch",
        "workflow_ref": f"{SERVING[0]}/.github/workflows/test-results.yaml@refs/heads/main",
    }
    assert is_let_in(claims)
    assert not is_let_in(claims | {"event_name": "workflow_run"}), "it would act for whoever started the first run"
    assert not is_let_in(claims | {"event_name": "pull_request"})
    member = f"serviceAccount:{writer.email}"
    held = {
        (stack, grant.inputs["bucket"], grant.inputs["role"].rpartition(".")[2])
        for stack in ("ci", "nightly", "training")
        for grant in unedited(stack).custom
        if grant.inputs.get("member") == member
    }
    bucket = "hai-gcp-models-tidepool-results"
    assert held == {("nightly", bucket, role) for role in ("objectUser", "objectViewer", "legacyBucketReader")}


def test_a_repositorys_workflows_may_act_as_no_other_repositorys_account() -> None:
    for each in makers():
        whose = {
            member.split("/.github/")[0].removeprefix("/attribute.workflow/") for member in members_of(each.account_id)
        }
        assert whose == {each.declared.repository}


def test_what_makes_vms_gives_them_its_own_pools_account_and_no_other() -> None:
    """The owner of one repository could otherwise start a VM that reads the secrets of another's runs."""
    lent = {
        (grant.inputs["member"], grant.inputs["serviceAccountId"].rpartition("/")[2].partition("@")[0])
        for stack in ("ci", "nightly", "training")
        for grant in unedited(stack).of("IAMMember")
        if grant.inputs["role"] == ACTS_AS and "controller-acts-as" not in grant.name
    }
    pools = {pool.name: (name, pool) for name in ("nightly", "training") for pool in load_stack(the_lab(), name).pools}
    assert lent == {
        (f"serviceAccount:{each.email}", names.pool_account_id(pools[each.declared.pool][0], each.declared.pool))
        for each in makers()
    }
    assert len(lent) == len({member for member, _ in lent}) == 3


def test_what_makes_vms_reads_which_images_there_are_and_has_no_other_grant_on_data() -> None:
    for each in makers():
        member = f"serviceAccount:{each.email}"
        (grant,) = (each for each in unedited("ci").custom if each.inputs.get("member") == member)
        assert grant.inputs["role"] == "roles/storage.objectViewer"
        assert grant.inputs["condition"]["expression"].endswith('/objects/images/")')


def test_runs_that_carry_mains_ref_for_strangers_are_not_let_in() -> None:
    events = "['pull_request', 'push', 'schedule', 'workflow_dispatch']"
    assert f"assertion.event_name in {events}" in attribute_condition()


def test_whoever_takes_over_a_name_is_let_in_nowhere_once_its_number_is_written() -> None:
    github = load_stack(the_lab(), "ci").github
    assert github
    maker = next(each for each in github.run_makers if each.repository != HERE)
    makers = [each.model_copy(update={"repository_id": "7"} if each is maker else {}) for each in github.run_makers]
    pinned = condition(github.model_copy(update={"repository_id": "1", "run_makers": tuple(makers)}), [HERE, MONOREPO])
    theirs = {
        "repository": maker.repository,
        "repository_id": "7",
        "ref": "refs/heads/main",
        "event_name": "schedule",
        "workflow_ref": f"{maker.repository}/.github/workflows/{maker.workflows[0]}@refs/heads/main",
    }
    for token in (OWN_IMAGES, theirs):
        assert is_let_in(token, pinned)
        assert not is_let_in(token | {"repository_id": "2"}, pinned)
        assert is_let_in(token | {"repository_id": "2"}), "no number is written"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (GITHUB, "    repository: tidepool\n", "owner/name"),
        (GITHUB, f"{GITHUB}    repository_id: 123456789\n", "repository_id"),
        (ENVIRONMENTS, "    environments: []\n", "no environment may apply"),
        (ENVIRONMENTS, "    environments: [apply, Apply]\n", "the environment is listed twice"),
        (ENVIRONMENTS, "    environments: [a'b]\n", "a GitHub environment"),
        ("        pool: nightly-v6e\n", "        pool: Nightly\n", "run_makers"),
        ("        pool: nightly-v6e\n", "", "run_makers"),
        (
            "      - repository: sgl-project/sglang-jax\n        pool: nightly-v6e\n",
            "      - repository: marin-community/marin\n        pool: train-v4\n",
            "the repository is listed twice for one pool",
        ),
        (
            "      - repository: sgl-project/sglang-jax\n        pool: nightly",
            f"      - {TWICE}\n      - repository: {SERVING[0]}\n        pool: nightly",
            "this workflow makes VMs as train-v4 already",
        ),
        (
            "    result_writers:\n",
            f"    result_writers:\n      - {{repository: {SERVING[0].upper()}, workflows: [a.yaml]}}\n",
            "the repository is listed twice",
        ),
        (
            "        workflows: [test-results.yaml, tpu-nightly.yaml, tpu-pull-request.yaml]\n",
            "        workflows: []\n",
            "no workflow is named",
        ),
    ],
)
def test_a_mistake_is_said(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_stack(edited("ci", (old, new)), stack="ci", source="ci")


def test_the_deploying_account_belongs_to_one_stack_of_a_project() -> None:
    first = parse_stack(text_of("ci"), stack="ci", source="ci")
    second = text_of("nightly") + "\n  tidepool:github:\n" + GITHUB + ENVIRONMENTS
    with pytest.raises(ConfigError, match="of this name in"):
        parse_stack(second, stack="nightly", source="nightly", siblings=[first])


@pytest.mark.parametrize("stack", ["ci", "a", "a-stack-whose-name-is-quite-long", "b-stack-whose-name-is-quite-long"])
def test_a_pools_id_is_one_that_google_takes(stack: str) -> None:
    assert 4 <= len(names.federation_pool_id(stack)) <= 32
    assert not names.federation_pool_id(stack).endswith("-")
    assert names.federation_pool_id("a-stack-whose-name-is-quite-long") != names.federation_pool_id(
        "b-stack-whose-name-is-quite-long"
    )
