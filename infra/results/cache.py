"""Whether a run's result may stand for another's: the files that a suite declares, and which results are never reused.

Owns the digest and the choice. A failure is never reused, nor a pass in which a test was flaky or which a quarantine
excused, nor a result that was reused itself; versions must be the same, as they are no files of the repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from infra.model.images.globs import first_match
from infra.results.suite_run import Outcome, ResultsError, SuiteRun


def inputs_digest(files: Iterable[tuple[str, str]], globs: Sequence[str]) -> str:
    """SHA-256 of path and content of what a suite reads.

    files: path and git's object id, as `git ls-tree -r` lists a commit. ResultsError where a glob names none of them:
    its result would stand for every tree.
    """
    listed = list(files)
    unused = [glob for glob in globs if not any(first_match(path, [glob]) for path, _ in listed)]
    if unused or not globs:
        missing = ", ".join(unused) or "no inputs are declared"
        fix = "say it in the checkout that was tested, or correct the suite's inputs in tidepool:results"
        raise ResultsError(f"no file of the commit is an input: {missing}; {fix}")
    named = sorted(f"{found}\0{path}\n" for path, found in listed if first_match(path, globs))
    return hashlib.sha256("".join(named).encode()).hexdigest()


def reusable(runs: Iterable[SuiteRun], versions: Mapping[str, str], pull: int | None = None) -> SuiteRun | None:
    """The newest of these runs, all of the same inputs and hardware, whose pass proves this one; None where none does.

    Where any of them failed, or a test was flaky, none does: the files do not decide how the suite ends.
    pull: of which pull request this run is. What another one says is a stranger's word, and is left out.
    """
    known = (each for each in runs if each.pull in (None, pull))
    # One with a part that was not tested says nothing of that part, neither way.
    same = [
        each for each in known if each.versions == dict(versions) and not each.reused and each.ended != "incomplete"
    ]
    if any(not each.green or each.named(Outcome.FLAKY, Outcome.FAILED) for each in same):
        return None
    return max(same, key=lambda each: each.at, default=None)
