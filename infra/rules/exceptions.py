"""Findings that a stack file accepts for a while, and what is wrong with accepting them.

Owns how an exception meets a finding. An exception that is over, means no rule, or no longer meets anything is a
finding itself, and no exception covers that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from infra.model import calendar
from infra.model.errors import nearest, suggestion
from infra.model.schema import RuleException, StackConfig
from infra.rules.finding import Finding, Level

EXPIRED: Final = "exception-expired"
UNKNOWN: Final = "exception-unknown"
UNUSED: Final = "exception-unused"
WORDS: Final = {
    EXPIRED: (Level.STOP, "An exception is a promise with a date; past it, the rule holds again."),
    UNKNOWN: (Level.WARN, "An exception to no rule covers nothing, though somebody believes that it does."),
    UNUSED: (Level.WARN, "An exception that meets nothing would one day cover what nobody has looked at."),
}
"""Level and reason of what is found of exceptions themselves."""


def accepted(findings: Iterable[Finding], config: StackConfig, today: datetime) -> Iterator[Finding]:
    """The findings that no exception in force covers."""
    in_force = [each for each in config.exceptions if not calendar.expired(each.expires, today)]
    return (finding for finding in findings if not any(covers(each, finding) for each in in_force))


def covers(exception: RuleException, finding: Finding) -> bool:
    """Whether it speaks of this finding; a `*` at the end of its subject stands for any rest.

    A resource may be named with its type, as findings name it, or without: `tpu-ci-us-west4-a-0`.
    """
    if exception.rule != finding.rule:
        return False
    stem, star, rest = exception.subject.partition("*")
    if star and not rest:
        return finding.subject.startswith(stem)
    return exception.subject in (finding.subject, _untyped(finding.subject))


def _untyped(subject: str) -> str:
    """`tpu-ci-us-west4-a-0` of `tpu-ci-us-west4-a-0 (tpu.V2Vm)`."""
    name, opens, _ = subject.rpartition(" (")
    return name if opens and subject.endswith(")") else subject


def expired(config: StackConfig, today: datetime, *, once: Collection[str] = ()) -> Iterator[Finding]:
    """Exceptions whose last day is over. once: rules over an edit alone; what one covered of these is merged."""
    for index, each in enumerate(config.exceptions):
        if calendar.expired(each.expires, today):
            said = f"the exception to {each.rule} for {each.subject} ended with {each.expires}: {each.reason}"
            found = _finding(EXPIRED, index, said, "mend what it covers and remove it, or agree on a later day")
            yield replace(found, level=Level.WARN, fix="remove it") if each.rule in once else found


def unknown(config: StackConfig, rules: Collection[str]) -> Iterator[Finding]:
    """Exceptions to what is no rule."""
    for index, each in enumerate(config.exceptions):
        if each.rule not in rules:
            fix = f"{suggestion(each.rule, sorted(rules), 'a rule of docs/rules.md')}; or remove it"
            yield _finding(UNKNOWN, index, f"there is no rule {each.rule}", fix)


def unused(
    config: StackConfig, today: datetime, findings: Collection[Finding], ran: Collection[str]
) -> Iterator[Finding]:
    """Exceptions in force that meet none of the findings, of rules that ran."""
    for index, each in enumerate(config.exceptions):
        if each.rule not in ran or calendar.expired(each.expires, today):
            continue
        if not any(covers(each, finding) for finding in findings):
            subjects = sorted({finding.subject for finding in findings if finding.rule == each.rule})
            fix = ", or ".join(filter(None, (nearest(each.subject, subjects), "remove it")))
            yield _finding(UNUSED, index, f"nothing breaks {each.rule} for {each.subject}", fix)


def _finding(rule: str, index: int, reason: str, fix: str) -> Finding:
    return Finding(rule=rule, level=WORDS[rule][0], subject=f"exceptions[{index}]", reason=reason, fix=fix)
