"""Slower or not: the statistics on seeded noise. The figures of docs/results.md are those of more series."""

from __future__ import annotations

import numpy as np
import pytest

from infra.results import bench
from infra.results.timing import LEAST, Shift, latest, replay


def noise(count: int, spread: float = 0.03, seed: int = 3) -> list[float]:
    return (100 * np.exp(np.random.default_rng(seed).normal(0, spread, count))).tolist()


def slowed(count: int, after: int, factor: float) -> list[float]:
    return [each * (factor if at >= after else 1) for at, each in enumerate(noise(count))]


def test_a_step_of_20_percent_is_told_at_the_third_slow_run_with_its_first_run() -> None:
    verdicts = replay(slowed(35, 30, 1.2))
    assert [each.at for each in verdicts if each.change is Shift.SLOWER] == [32, 33, 34]
    assert [each.since for each in verdicts[32:]] == [30, 30, 30]
    assert [each.began for each in verdicts[32:]] == [True, False, False]
    assert verdicts[34].ratio == pytest.approx(1.2, abs=0.05)


def test_a_step_of_10_percent_and_one_slow_run_are_not_told() -> None:
    assert all(each.change is Shift.NONE for each in replay(slowed(60, 30, 1.1)))
    once = noise(60)
    once[30] *= 3
    once[45] *= 1.5
    assert all(each.change is Shift.NONE for each in replay(once))


def test_too_few_runs_have_no_baseline() -> None:
    assert replay([100.0] * (LEAST - 1))[-1].usual is None
    usual = replay([100.0] * LEAST)[-1].usual
    assert usual is not None
    assert (usual.median, usual.spread, usual.runs) == (pytest.approx(100), 0, LEAST)
    assert latest([]) is None


def test_a_suite_that_went_back_keeps_its_baseline_so_that_the_next_step_is_told() -> None:
    values = [*noise(30), *[1.4 * each for each in noise(4, seed=5)], *noise(3, seed=6)]
    usual = replay(values)[-1].usual
    assert usual is not None
    assert (usual.median, usual.runs) == (pytest.approx(100, abs=3), 33)
    again = replay([*values, *[1.3 * each for each in noise(3, seed=8)]])
    assert (again[-1].change, again[-1].since) == (Shift.SLOWER, len(values))


def test_what_became_faster_is_the_new_level_so_that_going_back_is_slower() -> None:
    values = [*noise(30), *[0.6 * each for each in noise(20, seed=5)], *noise(5, seed=6)]
    verdicts = replay(values)
    assert verdicts[32].change is Shift.FASTER
    assert verdicts[-1].change is Shift.SLOWER
    assert verdicts[-1].since == 50


def test_slow_drift_is_told_as_a_figure_and_not_as_a_change() -> None:
    drifting = [each * 1.004**at for at, each in enumerate(noise(60))]
    verdicts = replay(drifting)
    assert all(each.change is Shift.NONE for each in verdicts)
    assert verdicts[-1].usual is not None
    assert verdicts[-1].usual.drift == pytest.approx(17, abs=4)


def test_no_noise_cries_wolf_more_than_once_in_200_runs() -> None:
    found = list(bench.figures(series=1, seed=7))
    assert {each.noise for each in found} >= set(bench.NOISE)
    runs, alarms = sum(each.runs for each in found), sum(each.false_alarms for each in found)
    assert alarms * 200 < runs
    by_name = {each.noise: each for each in found}
    assert by_name["bell curve, 2 %"].found_in_three == 1
    assert next(each for name, each in by_name.items() if name.startswith("real")).found_in_three > 0.9
