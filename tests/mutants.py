"""`./tidepool test --mutants GROUP`: change the modules of a group one place at a time, and see which tests fail.

Owns the copy in which that is done, the score and which survivors are named. How a place is changed is mutmut's.
Exit code 1 where fewer changes are seen than the goal says, or a survivor is named that is none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from infra.operations.checkout.checks import tracked
from infra.operations.workspace import CHECKOUT, workspace

GROUPS = Path(__file__).with_suffix(".toml")
SEEN: Final = frozenset({"killed", "timeout", "segfault", "caught by type check"})


class Change(NamedTuple):
    """One place of a module, changed. where: the function. before, after: the lines, without indentation."""

    where: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.where}\n  - {self.before}\n  + {self.after}"


class Score(NamedTuple):
    """made: how many changes. unseen: those that no test failed at."""

    made: int
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
    """Run the tests of a group against each change of its modules, in a copy of what git tracks."""
    copy = workspace().home / "mutants" / name
    shutil.rmtree(copy, ignore_errors=True)
    for path in tracked(lambda _: True):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / path, copy / path)
    with (copy / "pyproject.toml").open("a") as project:
        project.write(f"\n[tool.mutmut]\n{settings(group)}")
    mutmut(copy, "run", stdout=sys.stderr)
    told = mutmut(copy, "results", "--all", "true").split("\n")
    results = dict(line.strip().rsplit(": ", 1) for line in told if line)
    unseen = (change(key, mutmut(copy, "show", key)) for key, status in results.items() if status not in SEEN)
    return Score(len(results), tuple(unseen))


def settings(group: Mapping[str, Any]) -> str:
    """mutmut's, as lines of TOML; every file beside the code is copied, since tests read them."""
    beside = sorted({path.parts[0] for path in tracked(lambda _: True)} - {"infra", "tests", "pyproject.toml"})
    options = {
        "source_paths": ["infra"],
        "only_mutate": [f"{each}/*" if (CHECKOUT / each).is_dir() else each for each in group["modules"]],
        "also_copy": beside,
        "pytest_add_cli_args_test_selection": group["tests"],
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        "use_git_change_detection": False,
    }
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())


def mutmut(copy: Path, *arguments: str, stdout: Any = subprocess.PIPE) -> str:
    """What a command of mutmut prints. CalledProcessError where the tests fail on code that is not changed."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(
        command, cwd=copy, check=True, stdout=stdout, text=True, env={**os.environ, "TIDEPOOL_ROOT": str(copy)}
    )
    return done.stdout or ""


def change(key: str, shown: str) -> Change:
    lines = shown.splitlines()
    return Change(
        where=key.rpartition("__mutmut_")[0].replace(".x_", ".").replace("xǁ", "").replace("ǁ", "."),
        before=" ".join(_marked(lines, "-")),
        after=" ".join(_marked(lines, "+")),
    )


def _marked(lines: Iterable[str], mark: str) -> Iterator[str]:
    return (line[1:].strip() for line in lines if line.startswith(mark) and not line.startswith(mark * 3))


def judged(name: str, group: Mapping[str, Any], found: Score, goal: int) -> bool:
    """Print the score and what is unseen and not named; whether the goal is met and every named survivor survives."""
    named = {Change(each["where"], each["before"], each["after"]) for each in group.get("survivors", ())}
    open_ = [each for each in found.unseen if each not in named]
    gone = sorted(named - set(found.unseen))
    counted = found.made - (len(found.unseen) - len(open_))
    percent = 100 * (counted - len(open_)) / counted if counted else 100.0
    for each in open_:
        print(each)
    for each in gone:
        print(f"{each}\n  is named as a survivor of {name} and is seen: take it out of {GROUPS.name}")
    print(f"{name}: {percent:.1f} % of {counted} changes seen, {len(open_)} not, {len(named) - len(gone)} named")
    return percent >= goal and not gone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
