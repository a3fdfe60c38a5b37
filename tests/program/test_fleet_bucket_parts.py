"""Who reads and writes which part of the fleet bucket is what docs/serving.md says."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from infra.fleet import bootstrap
from infra.model import names
from infra.model.federation import run_makers
from infra.model.stack import load_stack
from tests.program.stacks import ROOT, unedited
from tests.synthetic_lab import the_lab

VERBS = {"roles/storage.objectViewer": "reads", "roles/storage.objectUser": "writes"}
Parts = dict[str, set[tuple[str, str]]]


def told() -> Parts:
    """By identity, as the table has it."""
    found: Parts = defaultdict(set)
    for row in (ROOT / "docs" / "serving.md").read_text().splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if re.fullmatch(r"`[a-zA-Z/]+/`", cells[0]) and len(cells) == 5:
            for verb, cell in (("reads", cells[2]), ("writes", cells[3])):
                for who in re.findall(r"`([a-z-]+)`", cell):
                    found[who].add((verb, cells[0].strip("`")))
    return found


def declared() -> Parts:
    """By identity, as the ci stack declares it; a pool's own name is POOL."""
    program, config = unedited("ci"), load_stack(the_lab(), "ci")
    bucket = program.outputs["manifest"]["bucket"]
    pools = {names.pool_account_id("ci", pool.name): pool.name for pool in config.pools}
    makers = {maker.account_id for maker in run_makers(config)}
    found: Parts = defaultdict(set)
    for grant in (each.inputs for each in program.of("BucketIAMMember") if each.inputs["bucket"] == bucket):
        if grant["role"] not in VERBS:
            continue
        account = grant["member"].removeprefix("serviceAccount:").partition("@")[0]
        who, prefix = account.removeprefix("tidepool-ci-"), grant["condition"]["title"].removeprefix("only ")
        if account in makers:
            who = "run-maker"
        if account in pools:
            who, prefix = f"pool {pools[account]}", prefix.replace(f"/{pools[account]}/", "/POOL/")
        found[who].add((VERBS[grant["role"]], prefix))
    return dict(_merged(found))


def _merged(found: Parts) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """Pools as one: each has the same."""
    of_pools = [parts for who, parts in found.items() if who.startswith("pool ")]
    assert all(parts == of_pools[0] for parts in of_pools)
    yield "pool", of_pools[0]
    yield from ((who, parts) for who, parts in found.items() if not who.startswith("pool "))


def test_each_identity_has_the_parts_that_the_page_says_and_no_other() -> None:
    assert declared() == told()


def test_whoever_deploys_has_all_of_the_fleet_buckets_and_of_no_other() -> None:
    wanted = bootstrap.Wanted(project="p", location="us", bucket="state", fleet_buckets=("fleet",))
    (storage,) = (
        each
        for each in bootstrap.grants(wanted)[bootstrap.BootstrapTarget.PROJECT]
        if each.role == bootstrap.STORAGE_ROLE
    )
    assert 'startsWith("projects/_/buckets/fleet/")' in storage.condition
    assert storage.member.startswith("serviceAccount:tidepool-deployer@")
