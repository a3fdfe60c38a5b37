"""Results of suites as files of one JSON object: read with every value checked.

A stranger's code may have written one, and what is read here is printed and kept.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

LONGEST = 4_000_000
MOST = 1e9
"""More seconds, and less than none, are no time that anything took."""
OUTCOMES = ("passed", "failed", "flaky", "skipped")
_TEST = re.compile(r"[^A-Za-z0-9_.()\[\]= -]")


def read(path: Path) -> dict[str, Any] | None:
    """The result of a file, None where it is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8")[:LONGEST])
        tests = {
            _TEST.sub("?", str(name))[:200]: {"seconds": _number(one["seconds"]), "outcome": one["outcome"]}
            for name, one in data["tests"].items()
            if one["outcome"] in OUTCOMES
        }
        return {
            "version": 1,
            "suite": _fitting(r"[a-z0-9-]{1,60}", data["suite"]),
            "commit": _fitting(r"[0-9a-f]{40}", data["commit"]),
            "run": _fitting(r"[0-9]+-[0-9]+", data["run"]),
            "at": int(_number(data["at"], 1e12)),
            "ok": data["ok"] is True,
            "seconds": _number(data["seconds"]),
            "vm_seconds": int(_number(data.get("vm_seconds") or 0)),
            "coverage": None if data.get("coverage") is None else _number(data["coverage"], 100),
            "tests": tests,
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _fitting(pattern: str, text: object) -> str:
    if not isinstance(text, str) or not re.fullmatch(pattern, text):
        raise ValueError(pattern)
    return text


def _number(value: object, most: float = MOST) -> float:
    number = float(value) if isinstance(value, int | float) else math.nan
    if not 0 <= number <= most:
        raise ValueError(value)
    return number


def history(folder: Path, suite: str = "*") -> list[dict[str, Any]]:
    """Every result that is kept, of one suite or of all, the oldest first."""
    found = (read(path) for path in folder.glob(f"results/{suite}/*.json"))
    return sorted((each for each in found if each), key=lambda each: (each["at"], each["run"]))


def name_of(result: dict[str, Any]) -> str:
    """Where a result is kept: a file of each commit and run."""
    return f"results/{result['suite']}/{result['commit']}-{result['run']}.json"


def baseline(past: Sequence[dict[str, Any]], runs: int, least: int) -> float | None:
    """The median seconds of the latest green runs, None while there are fewer than `least`.

    A run whose result was lost on its way has no tests and no time.
    """
    green = [each["seconds"] for each in past if each["ok"] and each["tests"]][-runs:]
    return statistics.median(green) if len(green) >= least else None


def flaky(results: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How often each test ended both ways at one commit: within a run, or in one run and another."""
    commits: dict[tuple[str, str, str], set[str]] = {}
    for result in results:
        for name, one in result["tests"].items():
            commits.setdefault((name, result["suite"], result["commit"]), set()).add(one["outcome"])
    within = with_outcome(results, "flaky")
    for (name, _, _), ended in commits.items():
        if {"passed", "failed"} <= ended:
            within[name] = within.get(name, 0) + 1
    return _most_first(within)


def with_outcome(results: Iterable[dict[str, Any]], outcome: str) -> dict[str, int]:
    """How often each test ended so."""
    counted: dict[str, int] = {}
    for result in results:
        for name, one in result["tests"].items():
            if one["outcome"] == outcome:
                counted[name] = counted.get(name, 0) + 1
    return _most_first(counted)


def _most_first(counted: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))
