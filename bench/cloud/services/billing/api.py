"""Cloud Billing's budgets: kept and shown. Nothing is billed, so nobody is told.

Any billing account is taken: whose it is, is not of a project.
Source: cloud.google.com/billing/docs/reference/budget/rest/v1/billingAccounts.budgets, read 2026-11.
"""

from __future__ import annotations

from bench.cloud.cloud import ApiCall
from bench.cloud.services.collection import Collection


class _Budgets(Collection):
    api = "billingbudgets.billingAccounts.budgets"
    kind = "billing.budget"
    adds = ("etag",)

    def parent(self, call: ApiCall) -> str:
        return f"billingAccounts/{call.ids['billingAccountsId']}"

    def asked_id(self, call: ApiCall) -> str:
        return f"00000000-0000-4000-8000-{call.cloud.store.next_number(self.kind):012d}"


_Budgets()
