"""Figures of before and after: right sums, targets that can be missed, and the page that prints them."""

from __future__ import annotations

import re
from functools import cache

import pytest

from infra.model.demand import Demands
from infra.model.errors import ConfigError
from tests.workflows.monorepo import REPOSITORY, ROOT, committed, shipped, spec, world
from workflows.demands import START_UP, Asking
from workflows.demands import demands as asked
from workflows.generate import generate
from workflows.inventory import Before, Figure, figures, load_before, read_before
from workflows.inventory.triggered import started_a_week
from workflows.outputs import outputs

PAGE = ROOT / "docs" / "workflows.md"
COMMAND_ONLY = {"lines in them", "lines that people write", "steps in them"}
"""What every edit of a workflow changes is printed by the command, and stands in no page."""


@cache
def before() -> Before:
    found = load_before(ROOT, "marin")
    assert found is not None
    return found


@cache
def demands() -> Demands:
    made = spec()
    asking = [
        Asking(repository=REPOSITORY, file=each.path, data=each.workflow.plain()) for each in generate(made, world())
    ]
    return asked(asking, [made], world(), (ROOT / START_UP).read_text(encoding="utf-8"))


def computed(of: Before | None = None, asking: Demands | None = None) -> dict[str, Figure]:
    files = generate(spec(), world())
    stacks = tuple(world().stacks.values())
    found = figures(spec(), of or before(), files, asking or demands(), stacks)
    return {each.what: each for each in found}


def computed_today() -> list[Figure]:
    found = outputs(ROOT, shipped()).demands
    assert found is not None
    stacks = tuple(shipped().stacks.values())
    return list(figures(committed(), before(), generate(committed(), shipped()), found, stacks))


def test_nineteen_files_become_fourteen() -> None:
    found = computed()["workflow files"]
    assert (found.before, found.after, found.met) == ("19", "14", True)


def test_every_old_file_is_replaced_by_a_generated_one_or_kept() -> None:
    made = {each.path.rpartition("/")[2] for each in generate(committed(), world())}
    assert {old.becomes for old in before().files if old.becomes} == made
    assert {old.file for old in before().files if not old.becomes} == {kept.file for kept in committed().declared.kept}


def test_no_target_is_missed() -> None:
    assert [each.what for each in computed().values() if each.met is False] == []


def test_vms_for_runs_are_those_of_new_images_alone() -> None:
    found = computed()["VMs made for runs, a week"]
    assert (found.before, found.after) == ("290", "2")


def test_vms_for_runs_are_counted_by_what_starts_their_files() -> None:
    causes = started_a_week(generate(spec(), world()), merged=8)
    builds = {each.why: each.times for each in causes["docker-images.yaml"]}
    assert builds["a push to main"] == 8
    assert builds["workflow_run success"] == 8, "every green push builds the image of what it tested"
    assert builds["docker-images.yaml, workflow_run success"] == 8
    runs = {each.why: each.times for each in causes["levanter-launch_small_fast.yaml"]}
    assert runs == {"docker-images.yaml, schedule 0 2 * * 0": 1}, "a run of hours follows the weekly build alone"


def test_a_file_that_every_push_starts_counts_with_every_push() -> None:
    every = [each for each in generate(spec(), world()) if each.path.endswith("levanter-tests.yaml")]
    assert [(each.why, each.times) for each in started_a_week(every, merged=3)["levanter-tests.yaml"]] == [
        ("a push to main", 3)
    ]


def test_a_slower_start_of_runners_misses_its_target() -> None:
    value = before().assumed.runner_start_minutes.model_copy(update={"value": 1.5})
    assumed = before().assumed.model_copy(update={"runner_start_minutes": value})
    found = computed(before().model_copy(update={"assumed": assumed}))["a TPU test starts after"]
    assert (found.after, found.met) == ("1.5 min", False)


def test_fewer_legs_at_once_are_a_longer_wait() -> None:
    def slower(asking: Demands, most: int) -> Demands:
        changed = [
            each.model_copy(update={"max_parallel": most}) if each.job == "tpu-tests" else each
            for each in asking.demands
        ]
        return asking.model_copy(update={"demands": tuple(changed)})

    one, three = (computed(asking=slower(demands(), most))["waiting of a leg, a pull request"] for most in (1, 3))
    assert (one.after, three.after) == ("8.5 min", "0.5 min")


def test_a_pull_request_is_through_sooner_than_with_a_vm_for_each_leg() -> None:
    found = computed()["until the last TPU leg ends"]
    assert (found.before, found.after) == ("15.5 min", "8.5 min")


def test_who_is_first_is_told_with_what_the_others_leave_them() -> None:
    told = computed()["first where both wait"].sums[0]
    assert told == "tpu-ci: 3 legs of levanter-tests.yaml tpu-tests at once leave 3 of 6 VMs free"


def test_every_figure_shows_its_sum() -> None:
    assert [each.what for each in computed().values() if not each.sums] == []


def test_the_page_has_the_figures(update_goldens: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for each in computed_today():
        if each.what not in COMMAND_ONLY:
            row = f"| {each.what} | {each.before} | {each.after} | {each.target} |"
            if update_goldens:
                page = re.sub(rf"(?m)^\| {re.escape(each.what)} \|.*$", lambda _, row=row: row, page)
                PAGE.write_text(page, encoding="utf-8")
            assert row in page.replace("\\<", "<"), f"docs/workflows.md lacks {row}"


def test_a_past_without_a_reason_for_an_assumption_is_refused() -> None:
    text = (ROOT / "workflows/inventory/marin.yaml").read_text(encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_before(text.replace(", why: the images are built on Sundays", ""), "marin.yaml")
    assert "assumed.image_builds_a_week.why" in str(refused.value)
