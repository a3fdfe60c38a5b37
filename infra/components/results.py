"""The bucket of results of test runs, and the budget that Google watches: who writes, how long runs stay, who is told.

Owns both resources, which hold nothing of one another. Leaves the objects to `infra.results.store`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import pulumi
import pulumi_gcp as gcp

from infra.components.private_bucket import deletes, grant, private_bucket
from infra.model.bucket_access import on_results
from infra.model.bucket_names import RESULT_RUNS, results_prefix

OLD_VERSIONS_DAYS: Final = 30
"""A run is written once; versions are of the index, and of what somebody deleted by mistake."""
_LONGEST_TITLE: Final = 100
"""Characters of a condition's title (cloud.google.com/iam/docs/conditions-overview, read 2026-11)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryWriter:
    """Who keeps the results of one repository, `owner/name`: an IAM member."""

    repository: str
    member: pulumi.Input[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResultsArgs:
    """bucket: its globally unique name. kept_days: after these a run goes. writers: by key, sorted."""

    project: str
    bucket: str
    location: str
    labels: dict[str, str]
    kept_days: int
    writers: Mapping[str, RepositoryWriter]


class TestResults(pulumi.ComponentResource):
    """A private, versioned bucket that forgets runs, and that no run of this program deletes."""

    bucket: pulumi.Output[str]

    def __init__(self, name: str, args: TestResultsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:results:TestResults", name, None, opts)
        repositories = sorted({each.repository for each in args.writers.values()})
        runs = [RESULT_RUNS, *(results_prefix(each) + RESULT_RUNS for each in repositories)]
        bucket = private_bucket(
            self,
            args.bucket,
            project=args.project,
            location=args.location,
            labels=args.labels,
            versioned=True,
            rules=[
                deletes(gcp.storage.BucketLifecycleRuleConditionArgs(age=args.kept_days, matches_prefixes=runs)),
                deletes(
                    gcp.storage.BucketLifecycleRuleConditionArgs(
                        days_since_noncurrent_time=OLD_VERSIONS_DAYS, with_state="ARCHIVED"
                    )
                ),
            ],
        )
        for key, writer in args.writers.items():
            for role, expression in on_results(args.bucket, writer.repository):
                name = f"{key}-{role.rpartition('.')[2]}-{args.bucket}"
                grant(bucket, self, name, role, writer.member, _only_where(expression, writer.repository))
        self.bucket = bucket.name
        self.register_outputs({"bucket": self.bucket})


def _only_where(expression: str, repository: str) -> gcp.storage.BucketIAMMemberConditionArgs | None:
    title = f"results of {repository}"[:_LONGEST_TITLE]
    return gcp.storage.BucketIAMMemberConditionArgs(title=title, expression=expression) if expression else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackBudgetArgs:
    """What a stack may cost a month. usd: in US dollars. project_number: of the project whose bill is watched.

    thresholds: shares of it at which people are told, of what is spent and, from 1.0 on, of what Google forecasts too.
    """

    project: str
    project_number: pulumi.Input[str]
    stack: str
    labels: dict[str, str]
    billing_account: str
    usd: Decimal
    thresholds: Sequence[float]
    notify: Sequence[str]


class StackBudget(pulumi.ComponentResource):
    """A budget of Cloud Billing over what carries the stack's label. It tells, and stops nothing."""

    budget: pulumi.Output[str]

    def __init__(self, name: str, args: StackBudgetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:results:StackBudget", name, None, opts)
        channels = [
            gcp.monitoring.NotificationChannel(
                f"budget-to-{address}",
                project=args.project,
                type="email",
                display_name=f"Tidepool {args.stack} budget: {address}",
                labels={"email_address": address},
                user_labels=args.labels,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for address in args.notify
        ]
        whole, nanos = int(args.usd), int((args.usd - int(args.usd)) * 10**9)
        budget = gcp.billing.Budget(
            f"tidepool-{args.stack}",
            billing_account=args.billing_account,
            display_name=f"Tidepool {args.stack}",
            amount=gcp.billing.BudgetAmountArgs(
                specified_amount=gcp.billing.BudgetAmountSpecifiedAmountArgs(
                    currency_code="USD", units=str(whole), nanos=nanos or None
                )
            ),
            budget_filter=gcp.billing.BudgetBudgetFilterArgs(
                projects=[pulumi.Output.concat("projects/", args.project_number)],
                labels={"tidepool-stack": args.stack},
                calendar_period="MONTH",
                # Credits are the lab's own affair: what is used up counts.
                credit_types_treatment="EXCLUDE_ALL_CREDITS",
            ),
            threshold_rules=[
                gcp.billing.BudgetThresholdRuleArgs(threshold_percent=share, spend_basis=basis)
                for share in sorted(args.thresholds)
                for basis in ("CURRENT_SPEND", "FORECASTED_SPEND")
                if basis == "CURRENT_SPEND" or share >= 1
            ],
            all_updates_rule=gcp.billing.BudgetAllUpdatesRuleArgs(
                monitoring_notification_channels=[channel.name for channel in channels],
                disable_default_iam_recipients=False,
            )
            if channels
            else None,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.budget = budget.name
        self.register_outputs({"budget": self.budget})
