"""What is there after an apply, for people. It loads how rollouts are told, which a preview does without."""

from __future__ import annotations

from collections.abc import Iterator

from infra.operations.fleet.status_words import coming_line
from infra.operations.stacks.aftermath import Aftermath
from infra.operations.stacks.stack_words import pools_shown, registries_line
from infra.preview.cluster_lines import cluster_shown
from infra.preview.toned import Shown, Tone, lines_toned, toned


def aftermath_shown(after: Aftermath, *, quiet: bool = False) -> Iterator[Shown]:
    """What is there after an apply. quiet: what is wrong with it alone."""
    yield from lines_toned(Tone.PROBLEM, (f"problem: {problem}" for problem in after.problems))
    if quiet:
        return
    if after.manifest is not None:
        yield toned((str(after.manifest), Tone.QUIET))
    if after.building:
        yield f"builds started, whose triggers have other steps now: {', '.join(after.building)}"
    yield from map(coming_line, after.rollouts)
    yield ""
    yield from pools_shown(after.config.stack, after.pools)
    if after.cluster is not None:
        yield from cluster_shown(after.cluster)
    if after.registries:
        yield ""
        yield registries_line(after.registries)
