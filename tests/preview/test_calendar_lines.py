"""Days ahead on a terminal of 80 and of 120 columns, and what an edit makes of them."""

from __future__ import annotations

import pytest

from infra.model.week import week
from infra.preview.calendar import lines
from tests.model.given import parse, pool, stack_text
from tests.model.test_week import MONDAY, NIGHT
from tests.preview.two_versions import marked, meaning, told

WINDOWS = f"[{NIGHT}]"
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, chips: 64, kind: preemptible}\n"


def shown(width: int, **fields: object) -> list[str]:
    config = parse(stack_text(pools=pool(windows=WINDOWS, **fields), quotas=QUOTA))
    return list(lines(week([config], MONDAY), width))


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit_and_say_when_what_stands(width: int) -> None:
    said = shown(width)
    assert max(map(len, said)) <= width
    assert said[0].startswith("Mon 23 Nov 2026 00:00 to Sun 29 Nov 23:59, UTC: ci, $")
    assert "  always: 1 VM, $" in "\n".join(said)
    assert "  night: 2 VMs more, 8 times, first Mon 00:00, 28 h together, $" in "\n".join(said)
    assert said[-1] == "us-west4-a v5e preemptible: at most 12 of 64 chips, on Mon 23 Nov 00:00"


def test_a_strip_has_a_block_for_three_hours_or_for_two() -> None:
    assert "  █▂▂▂▂▂▂█|█▂▂▂▂▂▂█|█▂▂▂▂▂▂█|█▂▂▂▂▂▂█|█▂▂▂▂▂▂█|█▂▂▂▂▂▂█|█▂▂▂▂▂▂█" in shown(80)
    assert shown(120, zones="{us-west4-a: 0}")[4].startswith("  █··········█|█··········█|")


def test_an_edit_of_a_window_shows_the_week_before_and_after() -> None:
    longer = WINDOWS.replace("4h", "5h")
    edit = meaning(stack_text(pools=pool(windows=WINDOWS)), stack_text(pools=pool(windows=longer)))
    (line,) = edit.week
    assert [round(hours) for hours in line.hours] == [56, 70]
    for said in (told(edit, 200), marked(edit)):
        assert "Windows of the next seven days (UTC)" in said
        assert "night: 8 times, 224 " in said
    assert told(edit, 200).startswith("ci: windows changed, +$")
    assert edit.to_json()["week"][0]["openings"] == {"before": 8, "after": 8}
