"""`./tidepool config`: values of a stack file for scripts, also while the file is half edited."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.model.errors import ConfigError
from infra.operations.declared.configured import configured
from tests.cli.conftest import Checkout

RUNBOOKS = Path(__file__).resolve().parents[2] / "docs" / "runbooks"


def test_one_value_is_printed_as_a_script_needs_it(checkout: Checkout) -> None:
    assert checkout.ok("config", "ci", "gcp:project").stdout == "hai-gcp-models\n"
    assert checkout.ok("config", "ci", "tidepool:pools[0].zones.us-west4-a").stdout == "2\n"
    assert json.loads(checkout.ok("config", "ci", "tidepool:vm_labels").stdout) == {
        "tpu-ci-component": "runner",
        "tpu-ci-managed": "true",
    }


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("gcp:projct", "write: gcp:project"),
        ("tidepool:builds.regio", "write: tidepool:builds.region"),
        (
            "tidepool:controller.region",
            "write: a path that is there, or tidepool:controller into stacks/Pulumi.ci.yaml first",
        ),
        ("gcp:project.x", "write: gcp:project, which has nothing below it"),
        ("tidepool:pools[70]", "write: tidepool:pools, which has 4 entries"),
    ],
)
def test_a_path_that_is_not_there_is_told_with_the_nearest(checkout: Checkout, path: str, fix: str) -> None:
    refused = checkout.run("config", "ci", path)
    assert refused.exit_code == 2
    assert fix in " ".join(refused.output.split())


def test_a_file_that_breaks_a_rule_still_says_its_project(checkout: Checkout) -> None:
    checkout.edit("ci", "accelerator: v5litepod-4", "accelerator: v5litepod-5")
    assert checkout.ok("config", "ci", "gcp:project").stdout == "hai-gcp-models\n"


def test_a_text_that_only_looks_like_json_is_printed_as_it_stands(checkout: Checkout) -> None:
    checkout.edit("ci", "config:\n", 'config:\n  tidepool:note: "[see the wiki"\n')
    assert checkout.ok("config", "ci", "tidepool:note").stdout == "[see the wiki\n"


def test_a_file_that_is_no_utf_8_is_told_with_its_line(checkout: Checkout) -> None:
    checkout.path("ci").write_bytes(b"config:\n  gcp:project: \xff\n")
    refused = checkout.run("config", "ci", "gcp:project")
    assert refused.exit_code == 2
    assert "stacks/Pulumi.ci.yaml:2: byte 0xff" in refused.output


@pytest.mark.parametrize("page", sorted(RUNBOOKS.glob("*.md")), ids=lambda page: page.stem)
def test_a_runbook_never_goes_on_with_what_the_committed_stack_file_leaves_out(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, stack, path in re.findall(r"(\w+)=\$\(\./tidepool config (\w+) (\S+)\)", text):
        try:
            configured(stack, path)
        except ConfigError:
            assert f'"${name}"' not in text, f"{name} may be empty"
            assert f'"${{{name}:?}}"' in text
