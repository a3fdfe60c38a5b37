"""Says of a result what failed, what is flaky, and whether it is slower than its history; warns, and never fails.

Told by RESULT (a file), HISTORY (a folder), SUITE (whose history it is compared with), SLOWER (percent), RUNS and LEAST
(how many green runs make a baseline), and REPORT, the file to write, which goes into the run's summary too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflows.scripts.results import baseline, history, read, with_outcome

SHOWN = 20


def main() -> None:
    told = os.environ
    result = read(Path(told["RESULT"]))
    if result is None:
        lines = [warned("No result: the tests did not reach their end.")]
    else:
        past = [each for each in history(Path(told["HISTORY"]), told["SUITE"]) if each["run"] != result["run"]]
        lines = [*judged(result, past), *noticed(result)]
    report = "\n".join(line if line.startswith("- ") else f"{line}  " for line in lines) + "\n"
    Path(told["REPORT"]).write_text(report, encoding="utf-8")
    with Path(told["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as summary:
        summary.write(report)


def judged(result: dict[str, Any], past: list[dict[str, Any]]) -> Iterator[str]:
    """How it ended, and its time and its coverage beside those before it."""
    told = os.environ
    ended = f"**{result['suite']}**: {'passed' if result['ok'] else 'failed'}"
    usual = baseline(past, int(told["RUNS"]), int(told["LEAST"]))
    if not result["tests"]:
        yield f"{ended}; no times were recorded."
        return
    yield f"{ended} in {result['seconds']:.0f} s"
    if not usual:
        yield "No baseline yet: there are too few green runs on the main branch."
    else:
        more = (result["seconds"] / usual - 1) * 100
        said = f"{more:+.0f} % compared with the median of {usual:.0f} s"
        slow = more > float(told["SLOWER"])
        if slow:
            warned(f"{result['suite']} took {result['seconds']:.0f} s: {said}")
        yield f"**Slower:** {said}" if slow else said
    if result["coverage"] is not None:
        last = next((each["coverage"] for each in reversed(past) if each["coverage"] is not None), None)
        since = "" if last is None else f" ({result['coverage'] - last:+.1f})"
        yield f"coverage {result['coverage']:.1f} %{since}"


def noticed(result: dict[str, Any]) -> Iterator[str]:
    """The tests that failed, and those that are flaky."""
    for outcome in ("failed", "flaky"):
        named = list(with_outcome([result], outcome))[:SHOWN]
        if named:
            warned(f"{outcome}: {', '.join(named)}")
            yield from ("", f"{outcome}:", *(f"- `{name}`" for name in named))


def warned(text: str) -> str:
    """The text, which the run's page shows as a warning."""
    print(f"::warning::{text}")
    return text


if __name__ == "__main__":
    main()
