"""docs/threats.md: each line of the attackers' walk has a test that exists, and its identities are those declared."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from infra.components.federation import ROLE as FEDERATED
from infra.model import names
from infra.model.federation import run_makers
from infra.model.stack import load_stack
from tests.program.stacks import ROOT
from tests.program.test_serving import served
from tests.synthetic_lab import the_lab

PAGE = (ROOT / "docs" / "threats.md").read_text()
KINDS = {
    "BucketIAMMember": "bucket",
    "IAMMember": "account",
    "JobIamMember": "controller",
    "RepositoryIamMember": "registries",
    "SecretIamMember": "secret",
    "ServiceIamMember": "broker",
    "TopicIAMMember": "topics",
}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and set(line) - set("| -")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines[1:]]


def declared() -> dict[str, set[str]]:
    """By identity, each role with what it stands on, of the ci stack with its broker and controller."""
    program, config = served(), load_stack(the_lab(), "ci")
    pools = {names.pool_account_id("ci", pool.name): pool.name for pool in config.pools}
    makers = {each.account_id for each in run_makers(config)}
    found: dict[str, set[str]] = defaultdict(set)
    for grant in program.custom:
        member, kind = grant.inputs.get("member", ""), KINDS.get(grant.type.rpartition(":")[2])
        if kind is None or not member.startswith("serviceAccount:"):
            continue
        account = member.removeprefix("serviceAccount:").partition("@")[0]
        who = (
            "a pool"
            if account in pools
            else "a run maker"
            if account in makers
            else account.removeprefix("tidepool-ci-")
        )
        where = kind
        if kind == "bucket":
            ours = grant.inputs["bucket"] == config.bucket.name
            where = grant.inputs.get("condition", {}).get("title", "names" if ours else "logs").removeprefix("only ")
            where = where.replace(f"/{pools.get(account)}/", "/POOL/")
        if kind == "account":
            where = (
                "pools' accounts" if "-pool-" in grant.inputs["serviceAccountId"] else grant.inputs["serviceAccountId"]
            )
        assert grant.inputs["role"] != FEDERATED
        found[who].add(f"{grant.inputs['role'].removeprefix('roles/')} on {where}")
    return dict(found)


def test_each_identity_has_the_roles_that_the_page_says_and_no_other() -> None:
    told = {
        who.strip("`"): set(re.findall(r"`([\w.]+ on [^`]+)`", roles))
        for who, roles, *_ in rows("What each identity may do")
    }
    assert told == declared()


@pytest.mark.parametrize("who", ["controller", "broker"])
def test_what_stands_on_the_project_is_what_serving_gives(who: str) -> None:
    serving = (ROOT / "docs" / "serving.md").read_text()
    given = re.search(rf"tidepool{who.title()} [^\n]*(?:\\\n)?[^\n]*--permissions=([\w.,]+)", serving)
    assert given
    (line,) = (row for row in rows("What each identity may do") if row[0] == f"`{who}`")
    assert set(re.findall(r"`(tpu\.[\w.]+)`", line[2])) == set(given[1].split(","))
