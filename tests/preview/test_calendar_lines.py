"""Days ahead on a terminal of 80 and of 120 columns, and what an edit makes of them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.model.week import week
from infra.preview.calendar import lines
from tests.model.given import parse, pool, refusals, stack_text
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


def test_a_window_with_a_mistake_counts_as_before_and_the_mistake_is_told() -> None:
    broken = WINDOWS.replace("4h", "9d")
    edit = meaning(stack_text(pools=pool(windows=WINDOWS)), stack_text(pools=pool(windows=broken)))
    (line,) = edit.week
    assert line.hours[0] == line.hours[1]
    assert any("at most 7 days" in finding.reason for finding in edit.findings)


def test_money_of_an_edit_counts_the_hours_of_windows() -> None:
    edit = meaning(stack_text(pools=pool()), stack_text(pools=pool(windows=WINDOWS)))
    (line,) = edit.money.lines
    assert round(line.after.amount.month.known / line.before.amount.month.known, 3) == round(1 + 2 * Decimal(4) / 24, 3)


def test_slices_of_a_cluster_have_no_windows_and_the_refusal_says_what_to_write() -> None:
    slices = f"- {{accelerator: v5litepod-4, zone: us-west4-a, capacity: spot, number: 1, windows: {WINDOWS}}}\n"
    told = " ".join(
        f"{each.subject} {each.rule} {each.fix}" for each in refusals(stack_text(pools="[]\n", slices=slices))
    )
    assert "slices[0].windows slices of a cluster have no windows" in told
    assert "buffer: 0 and a maximum" in told
