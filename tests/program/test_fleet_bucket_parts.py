"""Who reads and writes which part of the fleet bucket is what docs/serving.md says."""

from __future__ import annotations

import re
from collections import defaultdict

from infra.fleet import bootstrap
from tests.program.stacks import ROOT
from tests.program.test_threats_page import declared

VERBS = {"storage.objectViewer": "reads", "storage.objectUser": "writes"}
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


def parts() -> Parts:
    """By identity, as the ci stack declares it."""
    found: Parts = defaultdict(set)
    for who, grants in declared().items():
        for role, _, place in (each.partition(" on ") for each in grants):
            if place.endswith("/"):
                found[who.removeprefix("a ").replace(" ", "-")].add((VERBS[role], place))
    return found


def test_each_identity_has_the_parts_that_the_page_says_and_no_other() -> None:
    assert parts() == told()


def test_whoever_deploys_has_all_of_the_fleet_buckets_and_of_no_other() -> None:
    wanted = bootstrap.Wanted(project="p", location="us", bucket="state", fleet_buckets=("fleet",))
    (storage,) = (
        each
        for each in bootstrap.grants(wanted)[bootstrap.BootstrapTarget.PROJECT]
        if each.role == bootstrap.STORAGE_ROLE
    )
    assert 'startsWith("projects/_/buckets/fleet/")' in storage.condition
    assert storage.member.startswith("serviceAccount:tidepool-deployer@")
