"""Who of GitHub may act as which account: what the ci stack declares, and what a stack file may say of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from infra.components.federation import ROLE
from infra.local.cloud.services import roles
from infra.model import names
from infra.model.errors import ConfigError
from infra.model.stack import parse_stack
from tests.program.stacks import ROOT, built, committed, edited, text_of

GITHUB = "    repository: marin-community/tidepool\n"
ENVIRONMENTS = "    environments: [apply, apply-after-approval]\n"
POOL = "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/tidepool-ci"
HERE = "marin-community/tidepool"


def members_of(account: str) -> set[str]:
    grants = [g for g in committed("ci").of("IAMMember") if f"/{account}@" in g.inputs["serviceAccountId"]]
    assert {grant.inputs["role"] for grant in grants} == {ROLE}
    return {grant.inputs["member"].removeprefix(POOL) for grant in grants}


def provider_inputs(text: str | None = None) -> Mapping[str, Any]:
    (provider,) = (built("ci", text) if text else committed("ci")).of("WorkloadIdentityPoolProvider")
    return provider.inputs


def test_only_the_main_branch_in_a_named_environment_of_this_repository_deploys() -> None:
    assert members_of("tidepool-deployer") == {
        f"/attribute.deployment/{HERE}/apply/refs/heads/main",
        f"/attribute.deployment/{HERE}/apply-after-approval/refs/heads/main",
    }


def test_pull_requests_and_the_main_branch_read() -> None:
    assert members_of("tidepool-previewer") == {
        f"/attribute.preview/{HERE}/pull_request",
        f"/attribute.preview/{HERE}/refs/heads/main",
    }


def test_no_other_account_is_anybodys_outside() -> None:
    for grant in committed("ci").custom:
        if grant.inputs.get("member", "").startswith("principalSet://"):
            assert grant.inputs["serviceAccountId"].split("/")[-1].startswith(("tidepool-deployer@", "tidepool-prev"))


def test_a_token_of_another_repository_is_not_let_in() -> None:
    assert "assertion.repository == 'marin-community/tidepool'" in provider_inputs()["attributeCondition"]
    assert provider_inputs()["oidc"]["issuerUri"] == "https://token.actions.githubusercontent.com"


def test_runs_that_carry_mains_ref_for_strangers_are_not_let_in() -> None:
    condition = provider_inputs()["attributeCondition"]
    assert "assertion.event_name in ['pull_request', 'push', 'schedule', 'workflow_dispatch']" in condition


def test_a_repositorys_number_is_asked_for_where_it_is_written() -> None:
    text = edited("ci", (GITHUB, f'{GITHUB}    repository_id: "123456789"\n'))
    assert "assertion.repository_id == '123456789'" in provider_inputs(text)["attributeCondition"]
    assert "repository_id" not in provider_inputs()["attributeCondition"]


def test_what_a_member_names_is_mapped() -> None:
    mapped = {key for key in provider_inputs()["attributeMapping"] if key.startswith("attribute.")}
    named = {each.split("/")[1] for account in ("deployer", "previewer") for each in members_of(f"tidepool-{account}")}
    assert named <= mapped


def test_the_deploying_account_outlives_the_stack_that_it_applies() -> None:
    accounts = [a for a in committed("ci").of("Account") if a.name in ("tidepool-deployer", "tidepool-previewer")]
    assert len(accounts) == 2
    assert all(a.retain_on_delete and a.inputs["createIgnoreAlreadyExists"] for a in accounts)


def test_workflows_are_told_the_providers_full_name_and_the_accounts() -> None:
    told = committed("ci").outputs["github"]
    assert told["provider"].endswith("/workloadIdentityPools/tidepool-ci/providers/github")
    assert told["accounts"]["previewer"] == "tidepool-previewer@hai-gcp-models.iam.gserviceaccount.com"


def test_a_stack_without_it_lets_nobody_in() -> None:
    assert not committed("nightly").of("WorkloadIdentityPool")
    assert "github" not in committed("nightly").outputs


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (GITHUB, "    repository: tidepool\n", "owner/name"),
        (GITHUB, f"{GITHUB}    repository_id: 123456789\n", "repository_id"),
        (ENVIRONMENTS, "    environments: []\n", "something may apply"),
        (ENVIRONMENTS, "    environments: [apply, Apply]\n", "an environment stands once"),
        (ENVIRONMENTS, "    environments: [a'b]\n", "a GitHub environment"),
    ],
)
def test_a_mistake_is_said(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_stack(edited("ci", (old, new)), stack="ci", source="ci")


def test_the_deploying_account_belongs_to_one_stack_of_a_project() -> None:
    first = parse_stack(text_of("ci"), stack="ci", source="ci")
    second = text_of("nightly") + "\n  tidepool:github:\n" + GITHUB + ENVIRONMENTS
    with pytest.raises(ConfigError, match="belongs to one stack"):
        parse_stack(second, stack="nightly", source="nightly", siblings=[first])


@pytest.mark.parametrize("stack", ["ci", "a", "a-stack-whose-name-is-quite-long", "b-stack-whose-name-is-quite-long"])
def test_a_pools_id_is_one_that_google_takes(stack: str) -> None:
    assert 4 <= len(names.federation_pool_id(stack)) <= 32
    assert not names.federation_pool_id(stack).endswith("-")
    assert names.federation_pool_id("a-stack-whose-name-is-quite-long") != names.federation_pool_id(
        "b-stack-whose-name-is-quite-long"
    )


def test_the_reading_account_gets_roles_that_exist_and_only_read() -> None:
    section = (ROOT / "docs" / "github.md").read_text(encoding="utf-8").partition("## Identities")[2]
    table = set(re.findall(r"^\| `(roles/[A-Za-z.]+)`", section, re.MULTILINE))
    assert len(table) == 11
    assert all(roles.exists(role) for role in table)
    assert {role for role in table if not role.endswith(("iewer", "reader"))} == {"roles/cloudkms.cryptoKeyDecrypter"}
    commands = section.partition("```bash")[2].partition("```")[0]
    assert all(role.removeprefix("roles/") in commands for role in table)
