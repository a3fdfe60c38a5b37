"""Cloud Billing's budgets: kept and shown. Nothing is billed, so nobody is told.

Owns what a budget must say. Any billing account is taken: whose it is, is not of a project.
Source: cloud.google.com/billing/docs/reference/budget/rest/v1/billingAccounts.budgets, read 2026-11.
"""

from __future__ import annotations

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services.collection import Collection

_LONGEST_NAME = 60
_MOST_CHANNELS = 5


class _Budgets(Collection):
    api = "billingbudgets.billingAccounts.budgets"
    kind = "billing.budget"
    mutable = frozenset(
        {"amount", "budgetFilter", "displayName", "notificationsRule", "ownershipScope", "thresholdRules"}
    )
    adds = ("etag",)

    def parent(self, call: ApiCall) -> str:
        return f"billingAccounts/{call.ids['billingAccountsId']}"

    def asked_id(self, call: ApiCall) -> str:
        return f"00000000-0000-4000-8000-{call.cloud.store.next_number(self.kind):012d}"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if not body.get("amount"):
            raise invalid("A budget has an amount.", field="budget.amount")
        if len(body.get("displayName", "")) > _LONGEST_NAME:
            raise invalid("The display name has at most 60 characters.", field="budget.display_name")
        channels = body.get("notificationsRule", {}).get("monitoringNotificationChannels", ())
        if len(channels) > _MOST_CHANNELS:
            raise invalid("A budget has at most 5 channels.", field="budget.notifications_rule")
        for number, rule in enumerate(body.get("thresholdRules", ())):
            if rule.get("thresholdPercent", 0) < 0:
                raise invalid("A threshold is not negative.", field=f"budget.threshold_rules[{number}]")
        return super().checked(cloud, name, body)


_Budgets()
