"""What the local cloud's commands tell people."""

from __future__ import annotations

from bench.operations.control import clock_line, fault_lines


def test_times_are_told_as_people_read_them() -> None:
    now = {"time": "2026-11-25T00:06:27.310949+00:00", "offset": 60.2, "compression": 1.0}
    assert clock_line(now) == "2026-11-25 00:06:27 UTC (60 s ahead; operation delays divided by 1)"
    (line,) = fault_lines([{"id": 1, "kind": "stockout", "seen": 0, "until": 1795568932.8218746}], None)
    assert line.endswith("until=2026-11-25T01:08:52Z")
