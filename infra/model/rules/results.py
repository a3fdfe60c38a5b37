"""Rules of results of test runs: one bucket of their own, each suite and each entry of the quarantine once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.errors import Problem
from infra.model.refusals import Subject, shown
from infra.model.rules.common import Rule, repeats
from infra.model.schema import Bucket, Budget, Results, StackConfig


def _bucket(results: Results, bucket: Bucket, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    taken = {bucket.name: "the fleet records of this stack"}
    taken |= {each.bucket.name: f"the fleet records of stack {each.stack}" for each in siblings}
    taken |= {each.results.bucket.name: f"the results of stack {each.stack}" for each in siblings if each.results}
    if (name := results.bucket.name) in taken:
        rule = f"this bucket has {taken[name]}, whose readers and days are others"
        yield Problem(subject(("results", "bucket", "name")), shown(name), rule, "a bucket of its own")


def _suites(results: Results, subject: Subject) -> Iterator[Problem]:
    given = enumerate(each.name for each in results.suites)
    yield from repeats(given, subject, ("results", "suites"), "the suite is listed twice")
    entries = enumerate(f"{each.suite}: {each.test}" for each in results.quarantine)
    yield from repeats(entries, subject, ("results", "quarantine"), "the test is listed twice")


def _budget(budget: Budget, subject: Subject) -> Iterator[Problem]:
    notify, thresholds = enumerate(budget.notify), enumerate(map(str, budget.thresholds))
    if budget.notify and budget.billing_account is None:
        rule = "nobody is told without a budget at Google"
        fix = "billing_account: beside it, as `gcloud billing accounts list` names it"
        yield Problem(subject(("budget", "notify")), f"{len(budget.notify)} addresses", rule, fix)
    if len(budget.notify) > _MOST_CHANNELS:
        rule = f"a budget has at most {_MOST_CHANNELS} channels"
        yield Problem(subject(("budget", "notify")), f"{len(budget.notify)} addresses", rule, "the address of a group")
    yield from repeats(thresholds, subject, ("budget", "thresholds"), "the threshold is listed twice")
    yield from repeats(notify, subject, ("budget", "notify"), "the address is listed twice", any_case=True)


_MOST_CHANNELS: Final = 5
"""https://cloud.google.com/billing/docs/how-to/budgets-notification-recipients, read 2026-11."""

RULES: Final[tuple[Rule, ...]] = (_bucket, _suites, _budget)
