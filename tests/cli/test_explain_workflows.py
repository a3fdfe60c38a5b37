"""What `./tidepool explain` knows of workflows without being told: labels in use, stale files, waits, misfits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.model.demand import FILE
from tests.cli import workflow_checkout
from tests.cli.conftest import git
from tests.cli.test_explain_command import commit, explain
from tests.synthetic_lab import regenerate, steady

STACK = "stacks/Pulumi.ci.yaml"
TESTS = "workflows/generated/marin/.github/workflows/levanter-tests.yaml"
CI = steady("ci")
FEWER = CI.replace("us-west4-a: 2\n        us-east1-c: 2\n", "us-west4-a: 0\n        us-east1-c: 1\n")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git checkout of all that workflows are generated from, with what is generated; its one commit is `first`."""
    root = workflow_checkout.made(tmp_path, monkeypatch)
    git(root, "init", "--quiet")
    commit(root, "first")
    return root


def meaning(*arguments: str) -> dict[str, Any]:
    return json.loads(explain("ci", *arguments, "--json").output)


def test_an_edit_names_the_files_that_it_leaves_behind_until_they_are_made_anew(checkout: Path) -> None:
    (checkout / STACK).write_text(FEWER)
    stale = meaning()["stale"]
    assert any(each.startswith(f"{TESTS}: jobs.tpu-tests.") for each in stale)
    said = explain("ci").output
    assert "Generated files: run `./tidepool workflows --write` and commit; 2 files out of" in said
    regenerate(checkout)
    assert meaning()["stale"] == []


def test_the_files_of_a_commit_are_looked_at_where_a_commit_is_judged(checkout: Path) -> None:
    (checkout / STACK).write_text(FEWER)
    commit(checkout, "edited")
    regenerate(checkout)
    commit(checkout, "regenerated")
    assert any(each.startswith(TESTS) for each in meaning("--base", "first", "--head", "edited")["stale"])
    assert meaning("--base", "first", "--head", "regenerated")["stale"] == []


def test_what_workflows_ask_is_read_of_the_version_that_is_judged(checkout: Path) -> None:
    (checkout / FILE).write_text((checkout / FILE).read_text().replace("tpu-v4", "tpu-v5"))
    commit(checkout, "typo")
    found = meaning("--base", "first", "--head", "typo")["findings"]
    assert [each["rule"] for each in found if each["level"] == "stop"] == ["job-finds-runner"]
    assert meaning("--base", "typo", "--head", "first")["findings"] == []


def test_a_specification_that_was_edited_counts_before_anything_is_made_anew(checkout: Path) -> None:
    spec = checkout / "workflows/spec/marin.yaml"
    spec.write_text(spec.read_text().replace("        where: [tpu-ci]\n", "        where: [tpu-cj]\n"))
    found = meaning()
    assert found["exit"] == 1
    assert any("no pool has the label tpu-cj" in each["reason"] for each in found["findings"])


def test_a_pool_whose_new_name_the_images_do_not_know_is_told_with_the_line_to_mend_first(checkout: Path) -> None:
    (checkout / STACK).write_text(CI.replace("    - name: tpu-ci\n", "    - name: tpu-new\n"))
    said = " ".join(explain("ci").output.split())
    first = r"images/images\.yaml:\d+ images\[0\]\.used_by\.pools\[0\]: \"tpu-ci\": stack ci has no such pool"
    assert re.search(f"cannot be generated: {first} correct that first, then run `./tidepool workflows --write`", said)
    assert "out of date" not in said, "nothing can be generated yet"


def test_an_unreadable_list_of_demands_is_refused(checkout: Path) -> None:
    (checkout / FILE).write_text("version: 2\n")
    result = explain("ci")
    assert result.exit_code == 2
    assert "./tidepool workflows --write" in result.output
