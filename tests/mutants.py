"""`./tidepool test --mutants GROUP`: change the modules of a group one place at a time, and see which tests fail.

Owns the copy in which that is done, the score and which survivors are named; `tests.mutant_changes` owns what is
changed, `tests.mutant_trials` how a change is tried. Exit code 1 where fewer changes are seen than the goal says, or a
survivor is named that is none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infra.operations.checkout.checks import tracked
from infra.operations.workspace import CHECKOUT, workspace
from tests.mutant_changes import Change

GROUPS = Path(__file__).with_suffix(".toml")


class Score(NamedTuple):
    """made: how many changes there are. tried: how many of them met tests. unseen: those that no test failed at."""

    made: int
    tried: int
    unseen: tuple[Change, ...]


def main(names: Sequence[str]) -> int:
    declared = tomllib.loads(GROUPS.read_text())
    groups: dict[str, dict[str, Any]] = declared["groups"]
    if unknown := sorted(set(names) - groups.keys()):
        print(f"there is no group {', '.join(unknown)}; groups are {', '.join(groups)}", file=sys.stderr)
        return 2
    fine = [judged(name, groups[name], score(name, groups[name]), declared["goal"]) for name in names or groups]
    return 0 if all(fine) else 1


def score(name: str, group: Mapping[str, Any]) -> Score:
    """Run the tests of a group against the changes of its modules, in a copy of what git tracks.

    Raises CalledProcessError where a test fails of code that is not changed.
    """
    copy = workspace().home / "mutants" / name
    shutil.rmtree(copy, ignore_errors=True)
    for path in tracked(lambda _: True):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / path, copy / path)
    out = copy.with_suffix(".json")
    job = {"modules": files(group["modules"]), "sample": group.get("sample"), "out": str(out)}
    command = (sys.executable, "-m", "pytest", "-p", "tests.mutant_trials", "-p", "no:cacheprovider", *group["tests"])
    environment = {**os.environ, "TIDEPOOL_ROOT": str(copy), "TIDEPOOL_MUTANTS": json.dumps(job)}
    subprocess.run(command, cwd=copy, check=True, stdout=subprocess.DEVNULL, env=environment)
    result = json.loads(out.read_text())
    return Score(result["made"], result["tried"], tuple(Change(*each) for each in result["unseen"]))


def files(modules: Sequence[str]) -> list[str]:
    """The files of modules and of the folders among them, relative to the checkout."""
    found = [sorted((CHECKOUT / each).rglob("*.py")) or [CHECKOUT / each] for each in modules]
    return [str(path.relative_to(CHECKOUT)) for paths in found for path in paths]


def judged(name: str, group: Mapping[str, Any], found: Score, goal: int) -> bool:
    """Print the score and what is unseen and not named; whether the goal is met and every named survivor survives."""
    named = {Change(each["where"], each["before"], each["after"]) for each in group.get("survivors", ())}
    open_ = [each for each in found.unseen if each not in named]
    gone = sorted(named - set(found.unseen)) if found.tried == found.made else []
    counted = found.tried - (len(found.unseen) - len(open_))
    percent = 100 * (counted - len(open_)) / counted if counted else 100.0
    for each in open_:
        print(each)
    for each in gone:
        print(f"{each}\n  is named as a survivor of {name} and is seen: take it out of {GROUPS.name}")
    of = "" if found.tried == found.made else f" (a sample of {found.made})"
    survived = len(found.unseen) - len(open_)
    print(f"{name}: {percent:.1f} % of {counted} changes seen{of}, {len(open_)} not, {survived} named")
    return percent >= goal and not gone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
