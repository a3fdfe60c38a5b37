"""Jobs for people: a table of them, and how one stands and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from infra.jobs.client import JobPhase, JobState
from infra.preview.toned import Shown, Tone, columns, lines_toned, toned

_TONES: Final[Mapping[str, Tone]] = {
    "success": Tone.GOOD, "cancelled": Tone.QUIET, JobPhase.RUNNING: Tone.WORKING,
}  # fmt: skip


def jobs_lines(states: Sequence[JobState]) -> list[str]:
    """A table of jobs."""
    titles = ("NAME", "STATE", "SLICES", "QUEUE", "INTERRUPTED", "FAILED", "CREATED")
    return columns(titles, [_row(each) for each in states]) or ["no jobs"]


def job_shown(state: JobState, more: str = "") -> list[Shown]:
    """One job, and what it waits for or why it ended. more: a line below where it has not ended."""
    stands = state.outcome or state.phase
    tone = _TONES.get(stands, Tone.WARNING)
    following = [more] if more and state.phase is not JobPhase.ENDED else []
    return [
        toned((state.name, Tone.HEADING), " ", (stands, tone), f" on {state.backend}"),
        *(f"  {line}" for line in (*_waiting_words(state), *state.because)),
        *lines_toned(Tone.QUIET, following, indent=2),
    ]


def _row(state: JobState) -> tuple[str, ...]:
    """A job in a table: name, state, slices, queue, interruptions, failures, when it was made."""
    stands = state.outcome or state.phase
    if state.waiting is not None and state.waiting.place is not None:
        stands = f"{stands}, {state.waiting.place} ahead"
    attempts = state.attempts
    slices = f"{state.replicas} x {state.accelerator}" if state.accelerator else "-"
    return state.name, stands, slices, state.queue, str(attempts.preemptions), str(attempts.failures), state.created


def _waiting_words(state: JobState) -> list[str]:
    """Where a job waits, and for what; nothing of one that does not."""
    if (waits := state.waiting) is None:
        return []
    if not waits.queue:
        return [f"waits: {waits.says}"]
    ahead = "its place is unknown" if waits.place is None else f"{waits.place} ahead of it"
    whole = "" if waits.cluster_place is None else f", {waits.cluster_place} in all queues together"
    where = f"in queue {waits.queue}, {ahead}{whole}" if waits.queue else "without a queue"
    return [f"waits {where}: {waits.says}"]
