"""`./tidepool validate` and `schema`: stack files judged before a commit, and what editors know of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.model.stack_schema import schema_text
from tests.cli.conftest import Checkout
from tests.cli.test_what_commands_load import loaded_by
from tests.synthetic_lab import lend

NOT_NEEDED = ("grpc", "google.auth", "googleapiclient", "infra.engines.choose", "pulumi", "urllib3")


@pytest.fixture
def mistaken(tmp_path: Path) -> Checkout:
    """Two mistakes in ci, one in nightly."""
    checkout = Checkout(lend(tmp_path))
    checkout.edit("ci", "accelerator: v5litepod-4", "accelerator: v5litepod-5")
    checkout.edit("ci", "tidepool:owner:", "tidepool:ownr:")
    checkout.edit("nightly", "trust: fork", "trust: forc")
    return checkout


def test_right_files_are_said_to_be_right(checkout: Checkout) -> None:
    assert checkout.ok("validate").stdout == "ci, nightly, training: valid\n"
    assert checkout.json("validate", "nightly") == {"stacks": ["nightly"], "problems": [], "unchecked": {}, "exit": 0}


def test_every_mistake_of_every_stack_is_said_with_its_line(mistaken: Checkout) -> None:
    refused = mistaken.run("validate")
    assert refused.exit_code == 2
    for source, key in (("ci", "tidepool:ownr"), ("ci", "accelerator"), ("nightly", "trust")):
        lines = mistaken.path(source).read_text().splitlines()
        told = [
            each
            for each in refused.stderr.splitlines()
            if each.startswith(f"stacks/Pulumi.{source}.yaml:") and key in each
        ]
        assert told, key
        assert key in lines[int(told[0].split(":")[1].split()[0]) - 1]


def test_a_program_gets_each_problem_once(mistaken: Checkout) -> None:
    refused = mistaken.run("validate", "ci", "stacks/Pulumi.ci.yaml", "--json")
    found = json.loads(refused.stdout)
    assert refused.exit_code == found["exit"] == 2
    assert found["stacks"] == ["ci"]
    subjects = [each["subject"] for each in found["problems"]]
    assert len(set(subjects)) == len(subjects)
    assert all(each["rule"] and each["fix"] for each in found["problems"])
    assert not any("nightly" in each for each in subjects)


@pytest.mark.parametrize("how", ["zone", "registries", "deleted"])
def test_one_mistake_is_reported_once_with_the_stacks_that_it_keeps_from_being_checked(
    tmp_path: Path, how: str
) -> None:
    checkout = Checkout(lend(tmp_path))
    if how == "zone":
        checkout.edit("ci", "us-central2-b: 1", "us-central2-z: 1")
    elif how == "registries":
        checkout.edit("ci", "      - europe-west4\n", "      - europe-west9\n")
    else:
        checkout.path("ci").unlink()
    refused = checkout.run("validate")
    assert refused.exit_code == 2
    assert refused.stderr.count("problem: ") == 1
    assert refused.stderr.startswith("stacks/Pulumi.ci.yaml")
    assert refused.stderr.endswith("\n2 stacks not checked: nightly, training (they read ci)\n")
    alone = json.loads(checkout.run("validate", "nightly", "--json").stdout)
    assert alone["unchecked"] == {"nightly": ["ci"]}
    assert [each["subject"].partition(":")[0] for each in alone["problems"]] == ["stacks/Pulumi.ci.yaml"]
    assert "1 stack not checked: nightly (it reads ci)" in checkout.run("preview", "nightly", "--cloud", "local").stderr


def test_a_stack_that_there_is_not_is_a_problem_with_the_nearest(checkout: Checkout) -> None:
    refused = checkout.run("validate", "nigtly")
    assert refused.exit_code == 2
    assert "write: nightly" in refused.stderr


def test_it_loads_neither_an_engine_nor_google(checkout: Checkout) -> None:
    code = "from infra.cli.app import cli\ncli(['validate'], standalone_mode=False)"
    assert set(loaded_by(code, checkout.home)) & set(NOT_NEEDED) == set()


def test_the_schema_is_printed_as_it_is_kept(checkout: Checkout) -> None:
    assert checkout.ok("schema").stdout == schema_text()
