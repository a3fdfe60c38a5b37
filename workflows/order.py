"""The order of jobs by what they need."""

from __future__ import annotations

from collections.abc import Mapping, Set


def circle(needs: Mapping[str, Set[str]]) -> dict[str, Set[str]]:
    """The jobs that can never start because they wait for one another, with what each still waits for; {} if none."""
    waiting = dict(needs)
    while free := {each for each, left in waiting.items() if not left}:
        waiting = {each: left - free for each, left in waiting.items() if each not in free}
    return waiting
