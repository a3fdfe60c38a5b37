"""Rules between values of one stack, and between stacks of one repository. Each yields every Problem it finds.

Owns what must hold of several values at once. Does not own what a single value may be (fields) nor sums of chips
against limits (ledger). How rules are called: `infra.model.rules.common`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from infra.model.errors import Problem
from infra.model.partial import Draft
from infra.model.refusals import Subject
from infra.model.rules import cluster, limits, pools, queues, results, running, runs, sections, workloads
from infra.model.rules.common import run
from infra.model.schema import StackConfig

PLACES = (*pools.RULES, *cluster.RULES, *runs.RULES)
RULES = (
    *PLACES, *pools.LABELS, *queues.RULES, *workloads.RULES, *limits.RULES, *sections.RULES, *running.RULES,
    *results.RULES,
)  # fmt: skip


def broken(parts: Draft, siblings: Sequence[StackConfig] | None, subject: Subject) -> list[Problem]:
    """Every problem of every rule. siblings: the other stacks of the repository, None where they are not known."""
    others = None if siblings is None else [other for other in siblings if other.stack != parts.config.stack]
    return list(chain.from_iterable(run(rule, parts, others, subject) for rule in RULES))


def misplaced(parts: Draft, subject: Subject) -> list[Problem]:
    """What is wrong with pools, slices and runs of one file by itself: what they draw is not what somebody meant."""
    return list(chain.from_iterable(run(rule, parts, None, subject) for rule in PLACES))
