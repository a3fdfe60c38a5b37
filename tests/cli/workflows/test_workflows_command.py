"""`./tidepool workflows` as people use it: written, checked, explained, counted, here and in a consumer's checkout."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from infra.operations.workflows import explained
from tests.cli.conftest import Checkout
from tests.synthetic_lab import lend_workflows
from tests.workflows.legacy_checkout import old_files
from workflows.spec import load_spec
from workflows.world import load_world

TESTS = ".github/workflows/levanter-tests.yaml"
COPY = f"workflows/generated/marin/{TESTS}"
FILES = {
    ".github/actionlint.yaml",
    ".github/workflows/docker-images.yaml",
    ".github/workflows/levanter-gpt2_small_itest.yaml",
    ".github/workflows/levanter-launch_small_fast.yaml",
    ".github/workflows/levanter-publish_dev.yaml",
    TESTS,
    ".github/workflows/marin-unit-tests.yaml",
    ".github/workflows/test-results.yaml",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which everything that is generated was just written."""
    root = tmp_path_factory.mktemp("written")
    Checkout(lend_workflows(root)).ok("workflows", "--write")
    return root


@pytest.fixture
def here(written: Path, tmp_path: Path) -> Checkout:
    """The same, to be edited."""
    return Checkout(shutil.copytree(written, tmp_path / "here", symlinks=True))


def findings(here: Checkout, *more: str) -> list[dict[str, Any]]:
    """What --check says, each finding as data; not that no git is here to know a commit of our actions."""
    result = here.run("workflows", "--check", *more, "--json")
    body = json.loads(result.stdout)
    assert result.exit_code == body["exit"], result.output
    assert body["exit"] == int(any(each["stops"] for each in body["findings"]))
    return [each for each in body["findings"] if each["kind"] != "pin"]


def states(here: Checkout, *more: str) -> dict[str, str]:
    return {each["subject"]: each["state"] for each in findings(here, *more)}


def in_folder(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text, before
    path.write_text(text.replace(before, after, 1))


def test_an_empty_checkout_gets_the_files_and_they_are_right(here: Checkout, tmp_path: Path) -> None:
    target = tmp_path / "marin"
    body = here.json("workflows", "--write", "--target", str(target))
    assert set(body["written"]) == in_folder(target) == FILES
    assert body["made_folder"] is True
    said = here.ok("workflows", "--check", "--target", str(target)).stdout
    assert said.endswith("8 generated files: nothing to mend, 1 to know of\n")
    again = here.json("workflows", "--write", "--target", str(target))
    assert (again["made_folder"], again["written"], again["same"]) == (False, [], len(FILES))


def test_an_edit_by_hand_is_told_from_a_stale_file_and_mended_by_one_command(here: Checkout) -> None:
    edit(here.root / COPY, "timeout-minutes: 16", "timeout-minutes: 60")
    (found,) = findings(here)
    assert (found["subject"], found["state"]) == (COPY, "edited by hand")
    assert found["why"] == ["jobs.tpu-tests.timeout-minutes 60 -> 16"]
    assert found["mend"] == "./tidepool workflows --write"
    here.ok("workflows", "--write")
    assert findings(here) == []


def test_a_file_whose_source_is_gone_is_named_and_removed(here: Checkout) -> None:
    for ending in ("yaml", "tests"):
        (here.root / "workflows" / "spec" / f"serving.{ending}").unlink(missing_ok=True)
    orphans = {path for path, state in states(here).items() if state == "without a source"}
    assert orphans
    assert all(path.startswith(("workflows/generated/serving/", "actions/")) for path in orphans)
    assert orphans <= set(here.json("workflows", "--write")["removed"])
    assert "without a source" not in states(here).values()


def test_a_mistake_in_a_specification_is_told_and_hides_nothing_else(here: Checkout) -> None:
    (here.root / ".github/workflows/mine.yaml").write_text("name: Mine\n")
    edit(here.root / "workflows/spec/marin.yaml", "timeout_minutes: 16", "timeout_minutes: 1")
    found = states(here)
    assert [path.split(":")[0] for path, state in found.items() if state == "cannot be generated"] == [
        "workflows/spec/marin.yaml"
    ]
    assert found[".github/workflows/mine.yaml"] == "stray"
    refused = here.run("workflows", "--write")
    assert refused.exit_code == 2
    assert "timeout_minutes: 1" in refused.stderr
    assert "nothing was changed" in refused.stderr


def test_a_test_that_no_job_runs_fails_the_check_by_name(here: Checkout) -> None:
    edit(
        here.root / "workflows/spec/marin.yaml",
        "markers: entry and not tpu_ci",
        "markers: entry and not tpu_ci and not ray and slow",
    )
    here.ok("workflows", "--write")
    told = [each for each in findings(here) if each["kind"] == "tests"]
    assert "lib/levanter/tests/test_viz_lm.py::test_viz_lm" in {each["subject"] for each in told}
    result = here.run("workflows", "--coverage")
    assert result.exit_code == 1
    assert "no job runs it (marked entry)" in result.stdout


def test_explain_names_the_line_of_each_job(here: Checkout) -> None:
    body = here.json("workflows", "--explain", "levanter-tests.yaml")
    (file,) = body["files"]
    job = next(each for each in file["jobs"] if each["id"] == "tpu-tests")
    place, _, key = job["source"].partition(" ")
    name, _, line = place.rpartition(":")
    assert (here.root / name).read_text().splitlines()[int(line) - 1].strip() == job["says"] == "- job: tpu-tests"
    assert key == "tests[0].suites[3]"
    assert "this job leaves it 1 VM" in job["why"]


def test_newer_actions_are_told_from_a_file(here: Checkout, tmp_path: Path) -> None:
    table = here.root / "workflows" / "actions.yaml"
    other = tmp_path / "actions.yaml"
    other.write_text(table.read_text())
    assert here.json("workflows", "--newer", str(other)) == {"newer": [], "exit": 0}
    edit(other, "version: v5", "version: v99")
    result = here.run("workflows", "--newer", str(other), "--json")
    assert result.exit_code == 1
    (newer,) = json.loads(result.stdout)["newer"]
    assert newer["offered"]["version"].startswith("v99")


def test_the_list_of_tests_is_read_from_a_checkout(
    here: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = tmp_path / "lab"
    (lab / "lib/levanter/tests").mkdir(parents=True)
    (lab / "lib/levanter/tests/test_a.py").write_text("import pytest\n\n@pytest.mark.ray\ndef test_a(): ...\n")
    monkeypatch.setattr(explained, "_commit", lambda _: "c0ffee")
    assert here.json("workflows", "--read-tests", str(lab))["tests"] == 1
    text = (here.root / "workflows/spec/marin.tests").read_text()
    assert "https://github.com/marin-community/marin/tree/c0ffee" in text
    assert text.endswith("lib/levanter/tests/test_a.py\n  test_a ray\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--write", "--explain", "a.yaml"),
        ("--check", "--legacy"),
        ("--write", "--legacy"),
        ("--coverage", "--target", "."),
        ("--check", "--target", "no/such/folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(here: Checkout, arguments: tuple[str, ...]) -> None:
    assert here.run("workflows", *arguments).exit_code == 2


def test_old_files_are_kept_beside_the_new_ones_and_come_back(here: Checkout, tmp_path: Path) -> None:
    target = tmp_path / "marin"
    (target / ".github/workflows").mkdir(parents=True)
    legacy = load_spec(here.root, "marin", load_world(here.root)).declared.legacy
    assert legacy is not None
    before = {}
    for old in legacy.workflows:
        path = f".github/workflows/{old.file}"
        before[path] = re.sub(r"(?m)^name: .*$", f"name: {old.name}", old_files()[path], count=1)
        (target / path).write_text(before[path])
    here.ok("workflows", "--write", "--target", str(target), "--legacy")
    assert (target / ".github/workflows/levanter-run_tests-legacy.yaml").is_file()
    assert (target / ".github/workflows/legacy-comparison.yaml").is_file()
    assert not (target / ".github/workflows/levanter-run_tests.yaml").exists()
    assert here.json("workflows", "--write", "--target", str(target))["written"] == []
    assert not [each for each in findings(here, "--target", str(target)) if each["kind"] == "file"]
    here.ok("workflows", "--write", "--target", str(target), "--back")
    assert {path: (target / path).read_text() for path in before} == before
    assert not (target / ".github/workflows/legacy-comparison.yaml").exists()
