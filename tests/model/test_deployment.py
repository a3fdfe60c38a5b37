"""What a state lets go of, and what goes along."""

from __future__ import annotations

from typing import Any

from infra.model.deployment import removed_from_state, without

HEAD = "urn:pulumi:ci::tidepool::"
STACK, PROVIDER = f"{HEAD}pulumi:pulumi:Stack::tidepool-ci", f"{HEAD}pulumi:providers:gcp::default"


def resource(token: str, name: str, **more: Any) -> dict[str, Any]:
    return {"urn": f"{HEAD}{token}::{name}", "type": token, "parent": STACK, "provider": f"{PROVIDER}::1", **more}


POOL = resource("lab:Pool", "a")
VM = resource("gcp:Vm", "a-0", parent=POOL["urn"])
STORE = resource("gcp:Store", "images", protect=True)
READS = resource("gcp:Grant", "reads", propertyDependencies={"store": [STORE["urn"]]})
AFTER = resource("gcp:Grant", "after", dependencies=[READS["urn"]])
OTHER = resource("gcp:Store", "other", deletedWith="")
STATE = {
    "resources": [
        {"urn": STACK, "type": "pulumi:pulumi:Stack"},
        {"urn": PROVIDER, "type": "pulumi:providers:gcp"},
        *(POOL, VM, STORE, READS, AFTER, OTHER),
    ]
}


def gone(*targets: str) -> list[str]:
    return [step.name for step in removed_from_state(STATE, targets)]


def test_what_is_below_and_what_depends_on_it_goes_along() -> None:
    assert gone("urn:**::a") == ["a", "a-0"]
    assert gone("urn:**::images") == ["images", "reads", "after"]
    assert gone("urn:**::reads") == ["reads", "after"]
    assert gone("urn:**::a-*") == ["a-0"], "not what it is below"


def test_the_stack_and_its_providers_stay_whatever_is_named() -> None:
    assert gone("**") == ["a", "a-0", "images", "reads", "after", "other"]


def test_a_provider_of_what_goes_goes_along_with_all_that_it_made() -> None:
    kind = f"{HEAD}pulumi:providers:kubernetes"
    inside = {
        "urn": f"{kind}::inside",
        "type": "pulumi:providers:kubernetes",
        "parent": STACK,
        "dependencies": [VM["urn"]],
    }
    team = resource("kubernetes:Namespace", "team", provider=f"{kind}::inside::2")
    steps = removed_from_state({"resources": [*STATE["resources"], inside, team]}, ["urn:**::a-0"])
    assert [step.name for step in steps] == ["a-0", "inside", "team"]


def test_the_state_without_them_has_all_else_as_it_was() -> None:
    left = without(
        {"version": 3, "deployment": {**STATE, "manifest": 1}}, removed_from_state(STATE, ["urn:**::images"])
    )
    assert left["deployment"]["manifest"] == 1
    assert [each["urn"].rpartition("::")[2] for each in left["deployment"]["resources"]] == [
        "tidepool-ci", "default", "a", "a-0", "other",
    ]  # fmt: skip
