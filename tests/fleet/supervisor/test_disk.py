"""What of a supervisor outlives its process: the files that bundles of every age write and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.fleet.runner.supervisor.disk import Disk
from infra.fleet.runner.supervisor.state import LASTING, State

FULL = State(
    phase="busy",
    reason="because",
    image="an image",
    bundle="ab" * 32,
    runner="a runner",
    job="a job",
    obeyed=3,
    refused="cd" * 32,
    refusal="it did not start",
    boot=[{"step": "allow-reset", "began": "a", "ended": "b", "outcome": "done"}],
    events=[{"at": "a", "event": "registered", "runner": "a runner"}],
    reported=1_700_000_000.0,
    turn=1_700_000_060.0,
)


def test_what_was_kept_is_found_by_the_next_process(tmp_path: Path) -> None:
    Disk(tmp_path).keep(FULL)
    found = Disk(tmp_path).load()
    assert {name: getattr(found, name) for name in LASTING} == {name: getattr(FULL, name) for name in LASTING}


def test_files_of_the_shell_bundles_are_read(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    for name, text in {"phase": "idle", "obeyed": "7", "image": "an image", "job": ""}.items():
        (tmp_path / "report" / name).write_text(text)
    (tmp_path / "events").write_text('{"at":"a","event":"registered"}\n7\n{"at":"b","ev')
    (tmp_path / "boot").write_text("")
    (tmp_path / "turn").write_text("1700000060")
    (tmp_path / "reported").write_text("1700000000\n")
    state = Disk(tmp_path).load()
    assert (state.phase, state.obeyed, state.image, state.job) == ("idle", 7, "an image", "")
    assert state.events == [{"at": "a", "event": "registered"}], "a line that a crash cut off is none"
    assert (state.turn, state.reported) == (1_700_000_060.0, 1_700_000_000.0)


def test_what_is_not_plain_is_written_and_read_with_signs_in_its_place(tmp_path: Path) -> None:
    Disk(tmp_path).keep(State(reason="caf\u00e9"))
    assert Disk(tmp_path).load().reason == "caf?"
    (tmp_path / "report/reason").write_bytes(b"caf\xe9")
    assert Disk(tmp_path).load().reason == "caf\ufffd"


@pytest.mark.parametrize("text", ["", "many", "-1"])
def test_an_order_that_was_obeyed_and_cannot_be_read_counts_as_the_first(tmp_path: Path, text: str) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report/obeyed").write_text(text)
    assert Disk(tmp_path).load().obeyed == 0


def test_what_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    disk.keep(FULL)
    (tmp_path / "report/phase").unlink()
    disk.keep(FULL)
    assert not (tmp_path / "report/phase").exists()
    again = State(**{name: getattr(FULL, name) for name in LASTING})
    again.phase = "idle"
    disk.keep(again)
    assert (tmp_path / "report/phase").read_text() == "idle"
    assert not list(tmp_path.rglob("*.part")), "a file is whole or not there"
