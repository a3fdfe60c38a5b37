"""Old workflows stand beside the new ones for a while, under other names, and can come back as they were."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from types import MappingProxyType

import pytest

from infra.model.errors import ConfigError
from tests.workflows.legacy_checkout import REPLACED, UNTIL, generated, legacy, old_files, path
from workflows.events import dispatch, push
from workflows.legacy import COMPARISON, back, keep, overdue
from workflows.legacy.text import SUFFIX, Renamed, by_hand, not_by_hand, suffixed, suffixed_file, unsuffixed
from workflows.read import read
from workflows.runs import run
from workflows.spec.model import LegacyRuns
from workflows.triggering import triggers


@cache
def kept() -> Mapping[str, str]:
    """The checkout once the old ones are renamed and the new ones written."""
    return MappingProxyType({**keep(old_files(), legacy()).applied(old_files()), **generated()})


def test_a_copy_differs_in_file_and_name_starts_as_it_may_and_says_until_when_it_stays() -> None:
    edits = keep(old_files(), legacy())
    assert set(edits.removes) == {path(file) for file in REPLACED}
    assert set(edits.writes) == {path(suffixed_file(file)) for file in REPLACED}
    for file, (new, when) in REPLACED.items():
        text = edits.writes[path(suffixed_file(file))]
        before, after = read(old_files()[path(file)], file).data, read(text, file).data
        assert (after["name"], after["jobs"]) == (before["name"] + SUFFIX, before["jobs"])
        by_hand_alone = list(triggers(after["on"])) == ["workflow_dispatch"]
        assert by_hand_alone is (when is LegacyRuns.BY_HAND)
        assert run(after, dispatch() if by_hand_alone else push()).starts
        first, second = text.splitlines()[:2]
        assert new in first
        assert str(UNTIL) in first
        assert "docs/workflows-legacy.md" in second


PUBLISHING = ["levanter-docker-base-image", "levanter-docker-cluster-image", "marin-build-docker-images"]


@pytest.mark.parametrize("stem", [*PUBLISHING, "levanter-publish_dev"])
def test_a_workflow_that_publishes_is_not_kept_running(stem: str) -> None:
    with pytest.raises(ConfigError, match="the new workflow publishes it too"):
        keep(old_files(), legacy({f"{stem}.yaml": LegacyRuns.BESIDE}))


SCOPE = Renamed(["Tests", "Build"], ["tests.yaml", "build.yaml"])
OLD = """\
name: "Tests" # the name
on:
  push: {paths: [.github/workflows/tests.yaml, src/my-tests.yaml, src/tests.yaml]}
  workflow_run:
    workflows: [Build, 'Tests', Tests of others]
    types: [completed]
concurrency: tests-${{ github.ref }}
jobs:
  call:
    uses: ./.github/workflows/build.yaml
  start:
    concurrency: {group: start, cancel-in-progress: true}
    steps:
      - run: gh workflow run build.yaml --ref main
      - run: cat build.yaml.tmpl xbuild.yaml build.yamls
"""
NEW = """\
name: "Tests-legacy" # the name
on:
  push: {paths: [.github/workflows/tests-legacy.yaml, src/my-tests.yaml, src/tests.yaml]}
  workflow_run:
    workflows: [Build-legacy, 'Tests-legacy', Tests of others]
    types: [completed]
concurrency: tests-${{ github.ref }}-legacy
jobs:
  call:
    uses: ./.github/workflows/build-legacy.yaml
  start:
    concurrency: {group: start-legacy, cancel-in-progress: true}
    steps:
      - run: gh workflow run build-legacy.yaml --ref main
      - run: cat build.yaml.tmpl xbuild.yaml build.yamls
"""


def test_names_groups_and_references_to_other_copies_get_the_suffix_and_nothing_else() -> None:
    assert suffixed(OLD, SCOPE) == NEW
    assert unsuffixed(NEW, SCOPE) == OLD


@pytest.mark.parametrize("style", [">-", ">", "|-", "|", "|+"])
def test_a_group_of_several_lines_gets_the_suffix_behind_the_last(style: str) -> None:
    old = f"name: x\nconcurrency:\n  group: {style}\n    a-\n    ${{{{ github.ref }}}}\n\n# the jobs\njobs: {{}}\n"
    new = suffixed(old, SCOPE)
    assert new == old.replace("ref }}", "ref }}-legacy").replace("name: x", "name: x-legacy")
    assert unsuffixed(new, SCOPE) == old


def test_a_workflow_by_hand_keeps_its_inputs_and_what_started_it() -> None:
    old = (
        "name: x\non:\n  push:\n  workflow_dispatch:\n    inputs:\n      jax: {default: '1'}\n\n# the jobs\njobs: {}\n"
    )
    new = by_hand(old, "x.yaml")
    assert read(new, "x.yaml").data["on"] == {"workflow_dispatch": {"inputs": {"jax": {"default": "1"}}}}
    assert "\n\n# the jobs\njobs" in new
    assert not_by_hand(new) == old


@pytest.mark.parametrize(
    "on", ["on: push", "on: [push, pull_request] # both", "'on':\n  push:\n    branches:\n    - a"]
)
@pytest.mark.parametrize("rest", ["", "\n", "\njobs: {}\n", "\n\n# c\n\njobs:\n  a: {}"])
def test_any_start_can_be_put_by_and_comes_back(on: str, rest: str) -> None:
    old = f"name: x\n{on}{rest}"
    new = by_hand(old, "x.yaml")
    assert read(new, "x.yaml").data["on"] == "workflow_dispatch"
    assert not_by_hand(new) == old


def test_once_renamed_there_is_nothing_left_to_do() -> None:
    edits = keep(kept(), legacy())
    assert (edits.writes, edits.removes) == ({}, ())


def test_what_cannot_be_kept_or_brought_back_is_refused_all_at_once() -> None:
    both = {**kept(), path("levanter-run_tests.yaml"): old_files()[path("levanter-run_tests.yaml")]}
    with pytest.raises(ConfigError, match="the old workflow stands twice"):
        keep(both, legacy())
    wrong = legacy().workflows[0].model_copy(update={"name": "Run Tests"})
    with pytest.raises(ConfigError, match="name: Levanter - Run tests, in"):
        keep(old_files(), legacy().model_copy(update={"workflows": (wrong, *legacy().workflows[1:])}))
    with pytest.raises(ConfigError, match="the workflow to keep for a while is not there") as refusal:
        keep({}, legacy())
    assert {problem.subject for problem in refusal.value.problems} == {path(file) for file in REPLACED}
    with pytest.raises(ConfigError, match="the copy again: git checkout COMMIT -- ") as refusal:
        back(generated(), legacy())
    assert {each.subject for each in refusal.value.problems} == {path(suffixed_file(file)) for file in REPLACED}


def test_the_way_back_leads_to_the_very_files_that_there_were() -> None:
    there = {**kept(), path(COMPARISON): "name: compare\n"}
    assert back(there, legacy()).applied(there) == old_files()


def test_after_the_last_day_every_file_that_is_left_is_named_with_what_deletes_it() -> None:
    there = {**kept(), path(COMPARISON): "name: compare\n"}
    assert overdue(there, legacy(), UNTIL) == overdue(generated(), legacy(), UNTIL + timedelta(days=99)) == ()
    found = overdue(there, legacy(), UNTIL + timedelta(days=1))
    assert {each.subject for each in found} == {path(suffixed_file(file)) for file in REPLACED} | {path(COMPARISON)}
    assert all(each.fix.startswith(f"git rm {each.subject}") and each.value == "" for each in found)
