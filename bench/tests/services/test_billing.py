"""Budgets of Cloud Billing through Google's own client."""

from __future__ import annotations

import pytest

PARENT = "billingAccounts/012345-6789AB-CDEF01"
BUDGET = {
    "displayName": "Tidepool nightly",
    "amount": {"specifiedAmount": {"currencyCode": "USD", "units": "25"}},
    "budgetFilter": {"projects": ["projects/123"], "labels": {"tidepool-stack": ["nightly"]}},
    "thresholdRules": [{"thresholdPercent": 0.5}],
}


@pytest.fixture(scope="module")
def budgets(client):
    return client("billingbudgets", "v1").billingAccounts().budgets()


def test_a_budget_is_made_changed_listed_and_deleted(budgets, refused):
    made = budgets.create(parent=PARENT, body=BUDGET).execute()
    assert made["name"].startswith(f"{PARENT}/budgets/")
    assert made["budgetFilter"]["labels"] == {"tidepool-stack": ["nightly"]}
    budgets.patch(name=made["name"], updateMask="displayName", body={"displayName": "other"}).execute()
    assert [each["displayName"] for each in budgets.list(parent=PARENT).execute()["budgets"]] == ["other"]
    budgets.delete(name=made["name"]).execute()
    refused(404, budgets.get(name=made["name"]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount": {}},
        {"displayName": "x" * 61},
        {
            "notificationsRule": {
                "monitoringNotificationChannels": [f"projects/p/notificationChannels/{n}" for n in range(6)]
            }
        },
        {"thresholdRules": [{"thresholdPercent": -1}]},
    ],
    ids=["amount", "name", "channels", "threshold"],
)
def test_what_a_budget_must_say_is_checked(budgets, refused, wrong):
    refused(400, budgets.create(parent=PARENT, body={**BUDGET, **wrong}))
