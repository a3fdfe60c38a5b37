"""Nodes of a cluster write the project's logs and metrics, and nobody else has a role on the project."""

from __future__ import annotations

import pytest

from infra.rules.book import RESOURCE_RULES
from infra.rules.rule import ResourceContext
from infra.rules.view import ResourceView
from tests.model.given import parse
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
