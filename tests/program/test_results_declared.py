"""The bucket of results and the budget, as a stack file declares them."""

from __future__ import annotations

import pytest

from infra.model.errors import ConfigError
from infra.model.federation import result_writers
from infra.model.grants import Guarded, strange
from infra.model.stack import load_stack, stack_from_pulumi
from infra.model.stack_text import pulumi_values
from tests.program.stacks import built, text_of
from tests.synthetic_lab import the_lab

RESULTS = """
  tidepool:results:
    bucket: {name: lab-results, location: us-central1}
    kept_days: 90
"""
PREFIX = "repositories/"
BUDGET = """
  tidepool:budget:
    usd_per_month: 12.5
    billing_account: 012345-6789AB-CDEF01
    thresholds: [1.0, 0.5]
    notify: [money@lab.org]
"""


def nightly(*more: str) -> str:
    text = text_of("nightly").split("  tidepool:results:")[0].split("  tidepool:budget:")[0]
    return text + "".join(more)


def test_a_grant_on_the_whole_bucket_of_results_and_one_of_somebody_else_are_strangers() -> None:
    ci = load_stack(the_lab(), "ci")
    config = stack_from_pulumi(pulumi_values(nightly(RESULTS)), project="tidepool", stack="nightly", siblings=[ci])
    writers = [f"serviceAccount:{each.email}" for each in result_writers(ci)]
    for role in ("objectUser", "objectViewer"):
        policy = {"bindings": [{"role": f"roles/storage.{role}", "members": [*writers, "user:eve@lab.org"]}]}
        assert len(list(strange(Guarded("bucket", "lab-results"), policy, [ci, config]))) == len(writers) + 1 == 3


def test_a_result_writer_writes_below_the_prefix_of_its_repository_alone() -> None:
    declared = built("nightly", nightly(RESULTS))
    grants = [each.inputs for each in declared.of("BucketIAMMember") if each.inputs["bucket"] == "lab-results"]
    objects = 'resource.name.startsWith("projects/_/buckets/lab-results/objects/{}")'
    writers = result_writers(load_stack(the_lab(), "ci"))
    assert {each["member"] for each in grants} == {f"serviceAccount:{each.email}" for each in writers}
    for writer in writers:
        has = {
            each["role"].rpartition(".")[2]: each.get("condition", {}).get("expression")
            for each in grants
            if each["member"] == f"serviceAccount:{writer.email}"
        }
        assert has == {
            "objectUser": objects.format(f"{PREFIX}{writer.declared.repository.lower()}/"),
            "objectViewer": f"{objects.format('runs/')} || {objects.format('index.json')}",
            "legacyBucketReader": None,
        }


def test_a_budget_watches_what_carries_the_stacks_label_and_tells_its_channels() -> None:
    declared = built("nightly", nightly(BUDGET))
    (budget,) = declared.of("Budget")
    assert budget.inputs["amount"]["specifiedAmount"] == {"currencyCode": "USD", "units": "12", "nanos": 500_000_000}
    assert budget.inputs["budgetFilter"]["labels"] == {"tidepool-stack": "nightly"}
    rules = [(each["thresholdPercent"], each["spendBasis"]) for each in budget.inputs["thresholdRules"]]
    assert rules == [(0.5, "CURRENT_SPEND"), (1.0, "CURRENT_SPEND"), (1.0, "FORECASTED_SPEND")]
    assert len(budget.inputs["allUpdatesRule"]["monitoringNotificationChannels"]) == 1
    (channel,) = declared.of("NotificationChannel")
    assert channel.inputs["labels"] == {"email_address": "money@lab.org"}
    services = {each.inputs["service"] for each in declared.of("Service")}
    assert "billingbudgets.googleapis.com" in services


def test_without_a_billing_account_no_budget_is_declared_at_google() -> None:
    assert built("nightly", nightly("\n  tidepool:budget: {usd_per_month: 10}\n")).of("Budget") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RESULTS.replace("lab-results", "hai-gcp-models-tidepool-nightly"), "a bucket of its own"),
        (RESULTS + "    suites: [{name: tpu, inputs: []}]\n", "name what the tests read"),
        (RESULTS + "    suites: [{name: tpu, inputs: [a]}, {name: tpu, inputs: [b]}]\n", "remove one of the two"),
        (BUDGET.replace("    billing_account: 012345-6789AB-CDEF01\n", ""), "billing_account: beside it"),
        (BUDGET.replace("[1.0, 0.5]", "[0]"), "a number such as 0.5"),
        (BUDGET.replace("012345-6789AB", "012345"), "012345-6789AB-CDEF01"),
    ],
    ids=["bucket", "inputs", "twice", "notify", "threshold", "account"],
)
def test_what_cannot_be_meant_is_refused_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        stack_from_pulumi(pulumi_values(nightly(text)), project="tidepool", stack="nightly")
    assert said in str(refusal.value)
