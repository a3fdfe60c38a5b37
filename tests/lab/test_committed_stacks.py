"""The committed stack files, by what must hold of them rather than by their size today."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.model import fleet
from infra.model.schema import (
    StackConfig,
    Trust,
)
from infra.model.stack import load_stack, parse_stack
from infra.model.stack_schema import FILE
from infra.model.stack_text import stack_names
from tests.model.given import ROOT

EACH_STACK = pytest.mark.parametrize("stack", stack_names(ROOT))


def text_of(stack: str) -> str:
    return (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text()


@EACH_STACK
def test_a_stack_is_right(stack: str) -> None:
    assert load_stack(ROOT, stack).stack == stack


@EACH_STACK
def test_a_file_opens_with_its_purpose_and_names_every_key(stack: str) -> None:
    first, _, head = text_of(stack).partition("\nconfig:")[0].partition("\n")
    assert first == f"# yaml-language-server: $schema={Path(FILE).name}"
    assert head.startswith(f"# {stack}: ")
    assert all(line.startswith("#") for line in head.splitlines() if line)
    for key in StackConfig.model_fields.keys() - {"stack", "project"}:
        assert key in head


@EACH_STACK
def test_each_zone_stands_on_a_line_of_its_own_so_that_a_change_of_capacity_is_one_number(stack: str) -> None:
    lines = [line.strip() for line in text_of(stack).splitlines()]
    for pool in load_stack(ROOT, stack).pools:
        for zone, count in pool.zones.items():
            assert f"{zone}: {count}" in lines


def test_no_pool_can_read_the_key_that_registers_runners() -> None:
    keys = [secret for secret in load_stack(ROOT, "ci").secrets if secret.name == "tidepool-github-app-key"]
    assert [secret.readers for secret in keys] == [("broker",)]
    others = {secret.name for name in stack_names(ROOT) if name != "ci" for secret in load_stack(ROOT, name).secrets}
    assert "tidepool-github-app-key" not in others


def test_a_pool_that_reads_secrets_runs_the_main_branch_alone() -> None:
    for name in stack_names(ROOT):
        config = load_stack(ROOT, name)
        for reader in {reader for secret in config.secrets for reader in secret.readers if reader.startswith("pool/")}:
            assert config.pool(reader.removeprefix("pool/")).trust is Trust.PROTECTED


def test_the_reference_explains_every_key_and_its_example_is_right() -> None:
    document = (ROOT / "docs" / "stack-file.md").read_text()
    schema = json.loads((ROOT / FILE).read_text())
    keys = {key for each in schema["definitions"].values() for key in each.get("properties", ())}
    assert [key for key in sorted(keys) if f"`{key}`" not in document and f"{key}:" not in document] == []
    example = document.partition("## A whole file\n\n```yaml\n")[2].partition("```")[0]
    config = parse_stack(example, stack="ci", source="docs/stack-file.md")
    assert all(f"`{slot.name}`" in document for slot in fleet.slots(config))


def test_the_sections_that_the_reference_shows_are_right_together() -> None:
    document = (ROOT / "docs" / "stack-file.md").read_text()
    whole, *blocks = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
    sections = [block for block in blocks if block.startswith("  tidepool:") and "registry_stack" not in block]
    assert len(sections) == 13
    assert parse_stack(whole + "".join(sections), stack="ci", source="docs/stack-file.md")
