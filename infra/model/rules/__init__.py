"""Rules between values of one stack, and between stacks of one repository. Each yields every Problem it finds.

Owns what must hold of several values at once. Does not own what a single value may be (fields) nor sums of chips
against limits (ledger). The stack may be partial (see partial), so a rule asks whether a thing `has` what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from infra.model.errors import Problem
from infra.model.refusals import Subject
from infra.model.rules import cluster, limits, pools, queues, results, running, runs, sections, workloads
from infra.model.schema import StackConfig

_RULES = (
    *pools.RULES, *pools.LABELS, *cluster.RULES, *queues.RULES, *workloads.RULES, *limits.RULES, *sections.RULES,
    *running.RULES, *runs.RULES, *results.RULES,
)  # fmt: skip


def broken(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> list[Problem]:
    """Every problem of every rule. `siblings` are the other stacks of the repository."""
    others = [other for other in siblings if other.stack != config.stack]
    return list(chain.from_iterable(rule(config, others, subject) for rule in _RULES))


def misplaced(config: StackConfig, subject: Subject) -> list[Problem]:
    """What is wrong with pools, slices and runs of one file by itself: what they draw is not what somebody meant."""
    return list(chain.from_iterable(rule(config, (), subject) for rule in (*pools.RULES, *cluster.RULES, *runs.RULES)))
