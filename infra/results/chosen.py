"""Which runs of a suite are read for a report or a page, by what the index says of each.

Pure: lines of the index in, fewer of them out, in their order. The runs of the main branch that a run is compared with
come first, so that no number of pull requests pushes them out of what is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

Line: TypeAlias = Mapping[str, Any]
BASELINE: Final = 120
"""Green runs of the main branch on the same hardware with the same versions. What `infra.results.timing` says of the
latest of them depends on 68: a baseline, the latest ones, and those after which a new level is the usual one."""
RECENT: Final = 120
"""Latest runs of branches, whatever their hardware and end: for flaky tests, and the last commit that passed."""
OWN: Final = 40
"""Latest runs of the same pull request."""
HISTORY: Final = 400
"""Latest runs of the main branch that a page shows."""
OTHERS: Final = 100
"""And of all else, for waits and cost."""


def beside(lines: Sequence[Line], runs: Collection[str], main: str) -> list[Line]:
    """The lines of runs, of the newest where none is named, among those of runs that they are judged by."""
    judged = [each for each in lines if each["run"] in runs] if runs else lines[-1:]
    if not judged:
        return []
    of_branches = [each for each in lines if each["pull"] is None]
    on_main = [each for each in of_branches if each["branch"] == main]
    alike = [[each for each in on_main if _is_alike(each, one)][-BASELINE:] for one in judged]
    own = [each for each in lines if each["pull"] == judged[-1]["pull"] is not None]
    return _in_order(lines, *alike, of_branches[-RECENT:], own[-OWN:], judged)


def history(lines: Sequence[Line], main: str) -> list[Line]:
    """Those of the main branch, and the newest of all others."""
    on_main = [each for each in lines if each["pull"] is None and each["branch"] == main]
    others = [each for each in lines if each["pull"] is not None or each["branch"] != main]
    return _in_order(lines, on_main[-HISTORY:], others[-OTHERS:])


def _is_alike(line: Line, judged: Line) -> bool:
    same = all(line[key] == judged[key] for key in ("hardware", "versions"))
    return same and line["ended"] == "passed" and not line["reused"]


def _in_order(lines: Sequence[Line], *found: Sequence[Line]) -> list[Line]:
    names = {each["object"] for some in found for each in some}
    return [each for each in lines if each["object"] in names]
