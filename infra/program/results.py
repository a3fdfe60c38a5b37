"""Results of test runs and the stack's budget: the arguments of their components, and who may write results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from infra.components.results import RepositoryWriter, StackBudget, StackBudgetArgs, TestResults, TestResultsArgs
from infra.model import federation
from infra.model.schema import Results, StackConfig
from infra.program.shared import grantee, labels


def declare_results(
    config: StackConfig,
    results: Results,
    siblings: Sequence[StackConfig],
    accounts: Mapping[str, pulumi.Input[str]],
    ready: pulumi.ResourceOptions,
) -> TestResults:
    """The bucket. Result writers of the project, of this stack and of others, write below their repository's prefix.

    accounts: of workflows, by key; those writers among them.
    """
    writers = {
        grantee(writer.key): RepositoryWriter(repository=writer.declared.repository, member=accounts[writer.key])
        for each in (config, *siblings)
        for writer in federation.result_writers(each)
        if writer.project == config.project
    }
    args = TestResultsArgs(
        project=config.project,
        bucket=results.bucket.name,
        location=results.bucket.location,
        labels=labels(config),
        kept_days=results.kept_days,
        writers=dict(sorted(writers.items())),
    )
    return TestResults("results", args, ready)


def declare_budget(config: StackConfig, project_number: pulumi.Output[str], ready: pulumi.ResourceOptions) -> None:
    """The budget at Google, where the stack file names a billing account."""
    budget = config.budget
    if budget is None or budget.billing_account is None:
        return
    args = StackBudgetArgs(
        project=config.project,
        project_number=project_number,
        stack=config.stack,
        labels=labels(config),
        billing_account=budget.billing_account,
        usd=budget.usd_per_month,
        thresholds=budget.thresholds,
        notify=budget.notify,
    )
    StackBudget("budget", args, ready)
