"""The page of health: each suite's latest runs, what is flaky, and what the TPUs cost; from the history alone.

Told by USD_PER_HOUR, BUDGET (US dollars a month), RUNS and LEAST as `judge`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from workflows.scripts.results import baseline, flaky, history

DAY = 86_400
MONTH_DAYS = 30
SHOWN = 10


def page(folder: Path) -> tuple[str, bool]:
    """The page, and whether the month's cost is over the budget."""
    told = os.environ
    runs, least = int(told["RUNS"]), int(told["LEAST"])
    every = history(folder)
    recent = [each for each in every if each["at"] > time.time() - MONTH_DAYS * DAY]
    hours = sum(each["vm_seconds"] for each in recent) / 3600
    cost, budget = hours * float(told["USD_PER_HOUR"]), float(told["BUDGET"])
    lines = ["# Health of the tests", "", f"Of the last {MONTH_DAYS} days.", ""]
    lines += ["| Suite | Latest | Green | Median | Slowest | Coverage |", "|---|---|---|---|---|---|"]
    for suite in sorted({each["suite"] for each in recent}):
        own = [each for each in recent if each["suite"] == suite]
        usual = baseline(own, runs, least)
        green = sum(each["ok"] for each in own)
        lines.append(
            f"| {suite} | {'passed' if own[-1]['ok'] else '**failed**'} at `{own[-1]['commit'][:12]}` "
            f"| {green} of {len(own)} | {'-' if usual is None else f'{usual:.0f} s'} "
            f"| {max(each['seconds'] for each in own):.0f} s "
            f"| {'-' if own[-1]['coverage'] is None else format(own[-1]['coverage'], '.1f') + ' %'} |"
        )
    lines += [
        "",
        "## Flaky",
        "",
        *([f"- `{name}`: {count} times" for name, count in flaky(recent).items()][:SHOWN] or ["None."]),
    ]
    over = cost > budget
    lines += [
        "",
        "## Cost",
        "",
        f"{hours:.1f} hours of TPU VMs at ${told['USD_PER_HOUR']} an hour: ${cost:.2f} of ${budget:.2f}.",
    ]
    return "\n".join(lines) + "\n", over
