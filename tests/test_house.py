"""How the house is built: commands stay thin, and nothing imports itself by a detour."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
MOST = 4000
"""Lines of the tool's commands: what neither parses nor calls nor draws is an operation's or the words of one."""


def test_commands_keep_below_their_limit_of_lines() -> None:
    count = sum(len(path.read_text().splitlines()) for path in (ROOT / "infra/cli").rglob("*.py"))
    assert count < MOST, f"infra/cli has {count} lines: move what neither parses, calls nor draws (docs/house.md)"


READS = (
    "datetime.now(UTC)", "datetime.utcnow()", "datetime.today()", "date.today()", "dt.datetime.now()", "time.time()",
    "field(default_factory=time.time)", "time.time_ns()", "time.localtime()", "time.gmtime()", "time.ctime()",
    "machine_clock()",
)  # fmt: skip


def test_every_read_of_the_wall_clock_is_refused_or_names_its_reason() -> None:
    """One invocation has one clock, its cloud's (infra/model/clock.py)."""
    imports = (
        "import datetime as dt\nimport time\nfrom datetime import UTC, date, datetime\nfrom dataclasses import field\n"
    )
    lines = [*imports.splitlines(), "import infra.model.clock", *(f"_ = {read}" for read in READS[:-1])]
    lines.append("_ = infra.model.clock.machine_clock()")
    refused = _wall_clock_reads("--stdin-filename", "infra/fleet/probe.py", "-", text="\n".join(lines))
    assert [row for _, row in refused] == list(range(len(lines) - len(READS) + 1, len(lines) + 1))
    permitted = _wall_clock_reads("--ignore-noqa", "bench", "infra", "workflows")
    silent = [(file, row) for file, row in permitted if not re.search(r"noqa: TID251 - \w", _line(Path(file), row))]
    assert silent == []
    assert len(permitted) < 40, "an operation takes the clock of its session, a service that of its place"


def _wall_clock_reads(*arguments: str, text: str = "") -> list[tuple[str, int]]:
    command = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--output-format", "json", *arguments]
    found = json.loads(
        subprocess.run(command, cwd=ROOT, input=text, capture_output=True, check=False, text=True).stdout
    )
    return sorted({(each["filename"], each["location"]["row"]) for each in found})


def _line(path: Path, row: int) -> str:
    return path.read_text(encoding="utf-8").splitlines()[row - 1]


def test_no_module_imports_itself_by_a_detour_not_even_for_types() -> None:
    graph = grimp.build_graph("bench", "infra", "workflows", exclude_type_checking_imports=False, cache_dir=None)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    while ends := _ends(left):
        left = {module: imported - ends for module, imported in left.items() if module not in ends}
    assert not left, f"these are in a circle, or between two: {sorted(left)}"


def _ends(left: dict[str, set[str]]) -> set[str]:
    """Modules through which no circle goes: they import nothing, or nothing imports them."""
    imported = set().union(*left.values())
    return {module for module, imports in left.items() if not imports or module not in imported}


def test_every_file_has_a_name_that_any_system_can_check_out() -> None:
    """And so no test has left one behind that was committed with the rest."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False, text=True).stdout
    assert [name for name in listed.split("\0") if not re.fullmatch(r"[A-Za-z0-9._/@+-]*", name)] == []
