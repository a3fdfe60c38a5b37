"""Rules of results of test runs: one bucket of their own, each suite and each entry of the quarantine once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.errors import Problem
from infra.model.partial import has
from infra.model.refusals import Subject, shown
from infra.model.rules.common import Rule, repeats, right
from infra.model.schema import Results, StackConfig


def _results(config: StackConfig) -> Results | None:
    return config.results if has(config, "results") else None


def _bucket(config: StackConfig, others: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    results = _results(config)
    if results is None or not has(results, "bucket"):
        return
    taken = {
        each.bucket.name: f"the fleet records of stack {each.stack}"
        for each in (config, *others)
        if has(each, "bucket", "stack")
    }
    taken |= {
        each.results.bucket.name: f"the results of stack {each.stack}"
        for each in others
        if has(each, "results", "stack") and each.results is not None and has(each.results, "bucket")
    }
    name = results.bucket.name
    if name in taken:
        rule = f"this bucket has {taken[name]}, whose readers and days are others"
        yield Problem(subject(("results", "bucket", "name")), shown(name), rule, "a bucket of its own")


def _suites(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    results = _results(config)
    if results is None:
        return
    if has(results, "suites"):
        given = [each.name if has(each, "name") else None for each in results.suites]
        yield from repeats(given, subject, ("results", "suites"), "the suite is listed twice")
        for index, suite in right(results.suites):
            if has(suite, "inputs") and not suite.inputs:
                rule = "no inputs: one result would stand for every tree"
                yield Problem(subject(("results", "suites", index, "inputs")), "[]", rule, "name what the tests read")
    if has(results, "quarantine"):
        entries = [f"{each.suite}: {each.test}" if has(each, "suite", "test") else None for each in results.quarantine]
        yield from repeats(entries, subject, ("results", "quarantine"), "the test is listed twice")


def _budget(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    budget = config.budget if has(config, "budget") else None
    if budget is None:
        return
    if budget.notify and budget.billing_account is None:
        rule = "nobody is told without a budget at Google"
        fix = "billing_account: beside it, as `gcloud billing accounts list` names it"
        yield Problem(subject(("budget", "notify")), f"{len(budget.notify)} addresses", rule, fix)
    if len(budget.notify) > _MOST_CHANNELS:
        rule = f"a budget has at most {_MOST_CHANNELS} channels"
        yield Problem(subject(("budget", "notify")), f"{len(budget.notify)} addresses", rule, "the address of a group")
    yield from repeats(map(str, budget.thresholds), subject, ("budget", "thresholds"), "the threshold is listed twice")
    yield from repeats(budget.notify, subject, ("budget", "notify"), "the address is listed twice", any_case=True)


_MOST_CHANNELS: Final = 5
"""https://cloud.google.com/billing/docs/how-to/budgets-notification-recipients, read 2026-11."""

RULES: Final[tuple[Rule, ...]] = (_bucket, _suites, _budget)
