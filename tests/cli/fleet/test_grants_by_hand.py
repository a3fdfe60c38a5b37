"""Grants that somebody added by hand: seen by `status` and by a refreshed preview, until they are gone."""

from __future__ import annotations

from typing import Any

from infra.fleet.google import Api, Clients, clients, execute
from infra.github.drift import drift_of
from infra.model.stack import load_stack
from tests.cli.conftest import Checkout

STRANGER = "user:stranger@example.org"
WRITER, OPENS, ACTS = (
    "roles/artifactregistry.writer",
    "roles/secretmanager.secretAccessor",
    "roles/iam.serviceAccountTokenCreator",
)


def grant(collection: Any, name: str, role: str) -> None:
    policy = execute(collection.getIamPolicy(resource=name), "reading")
    bindings = [*policy.get("bindings", ()), {"role": role, "members": [STRANGER]}]
    execute(collection.setIamPolicy(resource=name, body={"policy": policy | {"bindings": bindings}}), "granting")


def granted_by_hand(google: Clients, upped: Checkout) -> dict[str, str]:
    """A stranger as writer of a registry, reader of a secret, and as who acts as the controller; resource by role."""
    config = load_stack(upped.root, "ci")
    assert config.registries is not None
    project = f"projects/{config.project}"
    region, repository = config.registries.regions[0], config.registries.repositories[0].name
    registry = f"{project}/locations/{region}/repositories/{repository}"
    secret = f"{project}/secrets/{config.secrets[0].name}"
    account = f"{project}/serviceAccounts/tidepool-ci-controller@{config.project}.iam.gserviceaccount.com"
    grant(google.api(Api.ARTIFACTS).projects().locations().repositories(), registry, WRITER)
    grant(google.api(Api.SECRETS).projects().secrets(), secret, OPENS)
    grant(google.api(Api.IAM).projects().serviceAccounts(), account, ACTS)
    return {WRITER: registry, OPENS: secret, ACTS: account}


def test_a_grant_that_no_stack_declares_is_told_by_status_and_by_a_refreshed_preview(upped: Checkout) -> None:
    nothing: dict[str, list[str]] = {"strange": [], "unread": []}
    assert [each["grants"] for each in upped.json("status", "ci", "--cloud", "local")["stacks"]] == [nothing]
    assert upped.json("preview", "ci", "--refresh")["grants"] == nothing
    with clients(load_stack(upped.root, "ci").project, upped.json("cloud", "status")["url"]) as google:
        there = granted_by_hand(google, upped)
    (standing,) = upped.json("status", "ci", "--cloud", "local")["stacks"]
    assert {each["role"]: each["resource"] for each in standing["grants"]["strange"]} == there
    assert {each["member"] for each in standing["grants"]["strange"]} == {STRANGER}
    assert standing["healthy"] is False
    said = " ".join(upped.ok("status", "ci", "--cloud", "local").output.split())
    assert f"{STRANGER} has {WRITER}, which no stack declares" in said
    plan = upped.json("preview", "ci", "--refresh")
    assert {grant[1] for grant in drift_of("ci", plan).grants} == there.keys()
    assert "grants" not in upped.json("preview", "ci"), "policies are read where resources are"
