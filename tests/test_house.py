"""How the house is built: commands stay thin, and nothing imports itself by a detour."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
MOST = 4000
"""Lines of the tool's commands: what neither parses nor calls nor draws is an operation's or the words of one."""


def test_commands_keep_below_their_limit_of_lines() -> None:
    count = sum(len(path.read_text().splitlines()) for path in (ROOT / "infra/cli").rglob("*.py"))
    assert count < MOST, f"infra/cli has {count} lines: move what neither parses, calls nor draws (docs/house.md)"


def test_no_module_imports_itself_by_a_detour_not_even_for_types() -> None:
    graph = grimp.build_graph("infra", "workflows", exclude_type_checking_imports=False, cache_dir=None)
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
