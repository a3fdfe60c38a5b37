"""A stack file at fault: commands that need it say everything at once, end with 2, and change nothing.

What is refused is tested where it is declared (`tests/model`), and by line in `test_validate_command.py`.
"""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Checkout

EDITS = (
    ("accelerator: v4-8", "accelerator: v4-9"),
    ("        us-west4-a: 2\n", "        us-west4-a: -1\n"),
    ("      - us-east5\n", "      - asia-east1\n"),
    ("    - name: tpu-v4\n", "    - name: tpu-v4\n      colour: red\n"),
)


@pytest.mark.parametrize("command", ["up", "preview"])
def test_all_mistakes_of_a_file_come_at_once_and_nothing_is_started(checkout: Checkout, command: str) -> None:
    good = checkout.text("ci")
    for before, after in EDITS:
        checkout.edit("ci", before, after)
    try:
        result = checkout.run(command, "ci", "--json")
        checkout.path("ci").write_text("")
        assert checkout.run(command, "ci").exit_code == 2
    finally:
        checkout.path("ci").write_text(good)
    assert result.exit_code == 2
    assert result.stderr.endswith("4 problems; nothing was changed.\n")
    problems = json.loads(result.stdout)["problems"]
    assert [each["subject"].startswith("stacks/Pulumi.ci.yaml:") for each in problems] == [True] * 4
    assert not checkout.home.exists()
