"""Runs are kept one object each, readable by hand, and the index follows from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from infra.model.bucket_names import RESULT_INDEX as INDEX
from infra.results import chosen
from infra.results.chosen import Line
from infra.results.store import Folder, ResultStore
from infra.results.suite_run import LARGEST, LARGEST_WRITTEN, Outcome, ResultsError, read_run
from tests.results.result_runs import ended, made, nights


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(Folder(tmp_path))


def test_a_run_is_one_object_by_suite_and_day_that_reads_back_the_same(store: ResultStore, tmp_path: Path) -> None:
    run = made(3, versions={"jax": "0.8.0", "python": "3.12"})
    assert store.keep(run)
    path = tmp_path / "runs/tpu/2026/10/04/3.json"
    assert json.loads(path.read_text())["versions"] == {"jax": "0.8.0", "python": "3.12"}
    assert read_run(path.read_bytes(), path.name) == run
    assert not store.keep(run)


def test_the_index_is_rebuilt_from_the_objects_byte_for_byte(store: ResultStore, tmp_path: Path) -> None:
    for run in reversed(nights([1, 2, 3])):
        store.keep(run)
    index = (tmp_path / INDEX).read_bytes()
    (tmp_path / INDEX).unlink()
    assert [each.seconds for each in store.runs("tpu")] == [1, 2, 3]
    assert (tmp_path / INDEX).read_bytes() == index
    for asked in (store.suites, lambda: store.keep(made(2, 3)), store.rebuild):
        (tmp_path / INDEX).write_bytes(b"{")
        asked()
        assert (tmp_path / INDEX).read_bytes() == index


def test_an_object_in_the_wrong_place_or_of_another_shape_is_named(store: ResultStore, tmp_path: Path) -> None:
    store.keep(made(1))
    wrong = tmp_path / "runs/tpu/2026/10/09/7.json"
    wrong.parent.mkdir(parents=True)
    wrong.write_bytes(made(7).content())
    assert store.rebuild() == 1
    assert "2026/10/08/7" in store.unread["runs/tpu/2026/10/09/7.json"]
    wrong.write_text('{"suite": "SECRET"}')
    assert store.rebuild() == 1
    assert "not a run" in store.unread["runs/tpu/2026/10/09/7.json"]
    assert "SECRET" not in str(store.unread)


def test_an_object_that_cannot_be_read_is_skipped_and_named_and_stands_for_no_pass(
    store: ResultStore, tmp_path: Path
) -> None:
    runs = nights([1, 2, 3], inputs="f" * 64)
    for run in runs:
        store.keep(run)
    assert len(store.by_inputs("tpu", "f" * 64, "v6e-1")) == 3
    name = runs[1].object_name
    for content in (b" " * (LARGEST + 1), b"{", b"\xff", b"[" * 100_000):
        (tmp_path / name).write_bytes(content)
        store.unread.clear()
        assert store.runs("tpu") == store.beside("tpu") == [runs[0], runs[2]]
        assert list(store.unread) == [name]
        assert store.by_inputs("tpu", "f" * 64, "v6e-1") == [], "it may have failed"
    assert store.rebuild() == 2
    assert store.suites() == ("tpu",)


def test_what_a_reader_would_refuse_is_never_written(store: ResultStore, tmp_path: Path) -> None:
    assert LARGEST_WRITTEN < LARGEST
    tests = tuple(ended(f"{at:06}{'n' * 250}", Outcome.PASSED) for at in range(40_000))
    with pytest.raises(ResultsError, match="Fix: split the suite"):
        store.keep(made(1, tests=tests))
    assert list(tmp_path.iterdir()) == []
    assert store.keep(made(1, tests=tests[:30_000]))
    assert len(store.runs("tpu")[0].tests) == 30_000


def line(at: int, **more: Any) -> Line:
    """Of the index, of a green night."""
    usual = {"pull": None, "branch": "main", "hardware": "v6e-1", "versions": {}, "ended": "passed", "reused": ""}
    return {"object": f"runs/{at}", "run": str(at), **usual, **more}


def objects(found: Sequence[Line]) -> list[int]:
    return [int(each["run"]) for each in found]


def test_no_number_of_pull_requests_pushes_the_baseline_out_of_what_is_read() -> None:
    nights_ = [line(at) for at in range(300)]
    pulls = [line(300 + at, pull=at % 50, branch="main") for at in range(3000)]
    read = chosen.beside([*nights_, *pulls], ["3299"], "main")
    assert objects(read[:120]) == list(range(180, 300))
    assert {each["pull"] for each in read[120:]} == {49}
    assert len(read) == 120 + chosen.OWN, "and of no other pull request any"
    assert objects(chosen.history([*nights_, *pulls], "main"))[:300] == list(range(300))


def test_a_baseline_is_of_the_same_hardware_and_versions_and_green() -> None:
    other = [{"hardware": "v5e"}, {"versions": {"jax": "1"}}, {"ended": "failed"}, {"reused": "1"}, {"branch": "x"}]
    lines = [line(at, **other[at % 6] if at % 6 < 5 else {}) for at in range(1200)]
    read = objects(chosen.beside(lines, (), "main"))
    assert read == [*range(485, 1080, 6), *range(1080, 1200)], "of the last 120 all, before them those that are alike"


def test_the_index_has_the_newest_runs_of_each_suite_alone(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket forgets runs after a time, and nobody else takes their lines away."""
    monkeypatch.setattr("infra.results.store.MOST_LINES", 2)
    for run in (*nights([1, 2, 3]), made(0, 9, suite="unit")):
        store.keep(run)
    assert ([each.seconds for each in store.runs("tpu")], [each.seconds for each in store.runs("unit")]) == (
        [2, 3],
        [9],
    )
    assert store.rebuild() == 4
    assert [each.seconds for each in store.runs("tpu")] == [2, 3]
