"""Rules of queues: whose slices they share, and that every name is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.errors import Problem
from infra.model.partial import has
from infra.model.refusals import Subject, shown
from infra.model.rules.common import Rule, repeats
from infra.model.schema import Queues, StackConfig


def _queues(config: StackConfig) -> Queues | None:
    return config.queues if has(config, "queues") else None


def _queues_have_a_cluster(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if _queues(config) is not None and has(config, "cluster") and config.cluster is None:
        rule = "the stack declares queues and no cluster whose slices they share"
        yield Problem(subject(("queues",)), "", rule, "tidepool:cluster and tidepool:slices, or no queues")


def _teams_once(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    queues = _queues(config)
    if queues is not None and has(queues, "teams"):
        listed = (team.name if has(team, "name") else None for team in queues.teams)
        yield from repeats(listed, subject, ("queues", "teams"), "the team's name is listed twice", "name")


def _teams_use_what_is_there(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    queues = _queues(config)
    if queues is None or not has(queues, "teams"):
        return
    there = {entry.accelerator.name for entry in config.slices if has(entry, "accelerator")}
    for index, team in enumerate(queues.teams):
        if not has(team, "accelerators"):
            continue
        for place, accelerator in enumerate(team.accelerators):
            if accelerator.name not in there:
                at = subject(("queues", "teams", index, "accelerators", place))
                fix = f"one of {', '.join(sorted(there))}" if there else "an entry of tidepool:slices first"
                yield Problem(at, shown(accelerator.name), "the stack declares no slices of this accelerator", fix)


def _reclaim_of_what_is_lent(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    queues = _queues(config)
    if (
        queues is not None
        and has(queues, "reclaim", "borrowing")
        and queues.reclaim != "never"
        and not queues.borrowing
    ):
        rule = "no queue lends quota, so there is nothing to get back"
        yield Problem(subject(("queues", "reclaim")), shown(queues.reclaim), rule, "borrowing: true, or reclaim: never")


RULES: Final[tuple[Rule, ...]] = (
    _queues_have_a_cluster,
    _teams_once,
    _teams_use_what_is_there,
    _reclaim_of_what_is_lent,
)
