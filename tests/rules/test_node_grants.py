"""Nodes write the project's logs and metrics, teams use one database, and nobody else has a role on the project."""

from __future__ import annotations

import pytest

from infra.rules.book import RESOURCE_RULES
from infra.rules.rule import ResourceContext
from infra.rules.view import ResourceView
from tests.model.given import parse
from tests.model.queued import stack
from tests.model.test_cluster_refusals import text

NODES = "serviceAccount:tidepool-ci-nodes@my-lab.iam.gserviceaccount.com"
OTHER = "serviceAccount:somebody@my-lab.iam.gserviceaccount.com"


@pytest.mark.parametrize(
    ("member", "role", "project", "stops"),
    [
        (NODES, "roles/logging.logWriter", "my-lab", False),
        (NODES, "roles/tpu.admin", "my-lab", True),
        (NODES, "roles/logging.logWriter", "another-lab", True),
        (OTHER, "roles/logging.logWriter", "my-lab", True),
    ],
)
def test_only_nodes_have_a_role_on_the_project(member: str, role: str, project: str, stops: bool) -> None:
    (rule,) = (each for each in RESOURCE_RULES if each.id == "grant-on-one-resource")
    inputs = {"member": member, "role": role, "project": project}
    view = ResourceView(type="gcp:projects/iAMMember:IAMMember", name="grant", inputs=inputs)
    assert bool(list(rule.judge(view, ResourceContext.of(parse(text()))))) is stops


DATABASE = 'resource.name == "projects/my-lab-tpus/databases/tidepool-training"'
TEAM = "serviceAccount:trainer@my-lab-tpus.iam.gserviceaccount.com"


@pytest.mark.parametrize(
    ("member", "role", "expression", "stops"),
    [
        (TEAM, "roles/datastore.user", DATABASE, False),
        (TEAM, "roles/datastore.user", "", True),
        (TEAM, "roles/datastore.user", DATABASE.replace("training", "other"), True),
        (TEAM, "roles/datastore.owner", DATABASE, True),
        (OTHER, "roles/datastore.user", DATABASE, True),
    ],
)
def test_teams_use_the_database_of_their_stack_and_no_other(
    member: str, role: str, expression: str, stops: bool
) -> None:
    (rule,) = (each for each in RESOURCE_RULES if each.id == "grant-on-one-resource")
    given = {"condition": {"title": "only", "expression": expression}} if expression else {}
    inputs = {"member": member, "role": role, "project": "my-lab-tpus", **given}
    view = ResourceView(type="gcp:projects/iAMMember:IAMMember", name="grant", inputs=inputs)
    teams = [{"name": "rl", "account": TEAM.partition(":")[2]}]
    with_database = stack(store={"firestore": {"location": "nam5"}}, teams=teams)
    assert bool(list(rule.judge(view, ResourceContext.of(with_database)))) is stops
    without = stack(store={"redis": {"region": "us-central1"}}, teams=teams)
    assert list(rule.judge(view, ResourceContext.of(without))), "a stack without a database grants nothing there"
