"""Rules over resources: the table of what breaks them and what does not, the words of findings, any resource at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.providers.google.tables import TYPES
from infra.model.schema import StackConfig
from infra.rules.book import RESOURCE_RULES, judge
from infra.rules.finding import Finding, Level
from infra.rules.keeping import LABELLED
from infra.rules.view import HIDDEN, UNKNOWN, ResourceView
from tests.model.clustered import text
from tests.model.given import parse, pool
from tests.model.queued import stack
from tests.rules.right_edits import FORK, POOLS, SERVED, SERVICE_GRANT, config, edit, rules

FOLDER = Path(__file__).parent
TABLE = yaml.safe_load((FOLDER / "resources.yaml").read_text(encoding="utf-8"))
GOLDEN = FOLDER / "golden" / "findings.txt"
STACKS: dict[str, StackConfig] = {
    "": config(),
    "served": config(**SERVED),
    "two forks": config(POOLS + pool(name="strangers", trust="fork")),
}


def seen(case: Mapping[str, Any]) -> ResourceView:
    base = TABLE["bases"].get(case.get("base"), {})
    whole: dict[str, Any] = {"name": "it", "protect": False, **base, **case}
    inputs = {**base.get("inputs", {}), **case.get("inputs", {})}
    return ResourceView(type=whole["type"], name=whole["name"], inputs=inputs, protect=whole["protect"])


def findings(case: Mapping[str, Any]) -> tuple[Finding, ...]:
    return judge(edit(STACKS[case.get("stack", "")]), [seen(case)])


@pytest.mark.parametrize("case", TABLE["resources"], ids=lambda case: case["what"])
def test_what_breaks_rules_is_found_by_those_alone_and_no_finding_repeats_a_secret(case: Mapping[str, Any]) -> None:
    found = findings(case)
    assert sorted(set(rules(found))) == case["broken"]
    assert all(each.level is (Level.WARN if each.rule == "trigger-on" else Level.STOP) for each in found)
    assert all(each.subject == seen(case).subject and each.reason and each.fix for each in found)
    secrets = ("ghp_a1B2", "correct horse", "MII", "hunter2", "0123456789abcdef", "12345678")
    assert not any(word in str(found) for word in secrets)


def test_every_rule_over_resources_has_something_that_breaks_it() -> None:
    assert {rule for case in TABLE["resources"] for rule in case["broken"]} == {rule.id for rule in RESOURCE_RULES}


def test_the_words_of_every_finding_are_those_that_were_read_last(update_goldens: bool) -> None:
    said = {finding: None for case in TABLE["resources"] for finding in findings(case)}
    lines = [f"{each.rule} ({each.level})\n  {each.subject}: {each.reason}\n  {each.fix}\n" for each in said]
    found = "".join(sorted(lines))
    if update_goldens:
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_one_run_says_everything_of_a_resource() -> None:
    inputs = {"metadata": {"x": HIDDEN}, "labels": {"tidepool-pool": "tpu-ci"}, "name": "Upper"}
    found = rules(findings({"base": "vm", "inputs": inputs}))
    assert set(found) == {"no-secret-in-metadata", "labels-say-owner", "name-within-limits"}
    assert found.count("labels-say-owner") == 2


@given(
    kind=st.sampled_from(
        [SERVICE_GRANT, "gcp:cloudrunv2/jobIamMember:JobIamMember", "gcp:cloudrun/iamMember:IamMember"]
    ),
    role=st.sampled_from(["roles/run.invoker", "roles/run.developer", "roles/run.admin"]),
    project=st.sampled_from(["my-lab", "my-lab-2"]),
    location=st.sampled_from(["us-central1", "us-west4"]),
    name=st.sampled_from(["tidepool-ci-broker", "tidepool-nightly-broker", "tidepool-ci-controller", "another"]),
)
def test_a_fork_pool_does_nothing_but_call_and_calls_nothing_but_the_broker(kind: str, **asked: str) -> None:
    grant = {"type": kind, "inputs": {"member": f"serviceAccount:{FORK}", **asked}, "stack": "served"}
    right = {"role": "roles/run.invoker", "project": "my-lab", "location": "us-central1", "name": "tidepool-ci-broker"}
    allowed = (kind, asked) == (SERVICE_GRANT, right)
    assert rules(findings(grant)) == ([] if allowed else ["forks-isolated"])


NODES = "serviceAccount:tidepool-ci-nodes@my-lab.iam.gserviceaccount.com"
OTHER = "serviceAccount:somebody@my-lab.iam.gserviceaccount.com"
TEAM = "serviceAccount:trainer@my-lab-tpus.iam.gserviceaccount.com"
TEAMS = [{"name": "rl", "account": TEAM.partition(":")[2]}]
CLUSTER = parse(text())
DATABASE = stack(store={"firestore": {"location": "nam5"}}, teams=TEAMS)
NO_DATABASE = stack(store={"redis": {"region": "us-central1"}}, teams=TEAMS)
OWN = 'resource.name == "projects/my-lab-tpus/databases/tidepool-training"'


@pytest.mark.parametrize(
    ("around", "member", "role", "project", "expression", "stops"),
    [
        (CLUSTER, NODES, "roles/logging.logWriter", "my-lab", "", False),
        (CLUSTER, NODES, "roles/tpu.admin", "my-lab", "", True),
        (CLUSTER, NODES, "roles/logging.logWriter", "another-lab", "", True),
        (CLUSTER, OTHER, "roles/logging.logWriter", "my-lab", "", True),
        (DATABASE, TEAM, "roles/datastore.user", "my-lab-tpus", OWN, False),
        (DATABASE, TEAM, "roles/datastore.user", "my-lab-tpus", "", True),
        (DATABASE, TEAM, "roles/datastore.user", "my-lab-tpus", OWN.replace("training", "other"), True),
        (DATABASE, TEAM, "roles/datastore.owner", "my-lab-tpus", OWN, True),
        (DATABASE, OTHER, "roles/datastore.user", "my-lab-tpus", OWN, True),
        (NO_DATABASE, TEAM, "roles/datastore.user", "my-lab-tpus", OWN, True),
    ],
)
def test_nodes_write_logs_and_teams_use_the_database_of_their_stack_and_nobody_else_has_a_role_on_the_project(
    around: StackConfig, member: str, role: str, project: str, expression: str, stops: bool
) -> None:
    given = {"condition": {"title": "only", "expression": expression}} if expression else {}
    inputs = {"member": member, "role": role, "project": project, **given}
    view = ResourceView(type="gcp:projects/iAMMember:IAMMember", name="grant", inputs=inputs)
    assert ("grant-on-one-resource" in rules(judge(edit(around), [view]))) is stops


def test_every_type_of_the_embedded_provider_that_takes_labels_must_have_them() -> None:
    takes = {token for token, kind in TYPES.items() if {"labels", "resourceLabels", "userLabels"} & kind.fields.keys()}
    assert takes <= LABELLED.keys()


# Any resource there can be.

KNOWN = sorted({*TYPES, *LABELLED, *(seen(case).type for case in TABLE["resources"])})
KEYS = sorted(
    {
        *(name for kind in TYPES.values() for name in kind.fields),
        *("accessConfigs", "containers", "email", "enableExternalIps", "env", "envs", "image", "mode", "name"),
        *("networkInterfaces", "template", "tidepool-owner", "tidepool-pool", "tidepool-stack", "tidepool-trust"),
        "value",
    }
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([HIDDEN, UNKNOWN, "fork", "tpu-ci", "forks", "allUsers", "roles/owner", "image: a"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
VIEWS = st.builds(
    ResourceView,
    type=st.sampled_from(KNOWN) | st.text(max_size=30),
    name=st.text(max_size=20),
    urn=st.text(max_size=20),
    inputs=st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), VALUES, max_size=8),
    protect=st.booleans(),
)
EDIT = edit()


@settings(deadline=None, max_examples=120)
@given(st.lists(VIEWS, max_size=4))
def test_no_rule_raises_on_any_resource_and_equal_resources_are_judged_alike(views: list[ResourceView]) -> None:
    found = judge(EDIT, views)
    assert found == judge(EDIT, list(reversed(views)))
    assert list(found) == sorted(found)


def test_no_rule_raises_on_values_nested_to_any_depth() -> None:
    deep: Any = "image: x"
    for _ in range(5_000):
        deep = {"template": [deep]}
    for kind in KNOWN:
        judge(EDIT, [ResourceView(type=kind, name="deep", inputs={"metadata": deep, "template": deep, "labels": deep})])
