"""Says of a result what failed, what is flaky, and whether it is slower than its history; warns, and never fails.

Told by RESULT (a file), HISTORY (a folder), SUITE (whose history it is compared with), SLOWER (percent), RUNS and LEAST
(how many green runs make a baseline), and REPORT, the file to write, which goes into the run's summary too.
"""

from __future__ import annotations

import os
from pathlib import Path

from workflows.scripts.results import baseline, history, read, with_outcome

SHOWN = 20


def main() -> None:
    told = os.environ
    result = read(Path(told["RESULT"]))
    if result is None:
        lines = ["No result came back: the tests did not get to their end."]
        print(f"::warning::{lines[0]}")
    else:
        past = [each for each in history(Path(told["HISTORY"]), told["SUITE"]) if each["run"] != result["run"]]
        usual = baseline(past, int(told["RUNS"]), int(told["LEAST"]))
        lines = [f"**{result['suite']}**: {'passed' if result['ok'] else 'failed'} in {result['seconds']:.0f} s"]
        if usual is None:
            lines.append("No baseline yet: there are too few green runs on the main branch.")
        else:
            more = (result["seconds"] / usual - 1) * 100 if usual else 0.0
            said = f"{more:+.0f} % against the median of {usual:.0f} s"
            lines.append(said)
            if more > float(told["SLOWER"]):
                print(f"::warning::{result['suite']} took {result['seconds']:.0f} s: {said}")
                lines[-1] = f"**Slower:** {said}"
        if result["coverage"] is not None:
            last = next((each["coverage"] for each in reversed(past) if each["coverage"] is not None), None)
            since = "" if last is None else f" ({result['coverage'] - last:+.1f})"
            lines.append(f"coverage {result['coverage']:.1f} %{since}")
        for outcome in ("failed", "flaky"):
            named = list(with_outcome([result], outcome))
            if named:
                print(f"::warning::{outcome}: {', '.join(named[:SHOWN])}")
                lines += ["", f"{outcome}:", *(f"- `{name}`" for name in named[:SHOWN])]
    report = "\n".join(line if line.startswith("- ") else f"{line}  " for line in lines) + "\n"
    Path(told["REPORT"]).write_text(report, encoding="utf-8")
    with Path(told["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as summary:
        summary.write(report)


if __name__ == "__main__":
    main()
