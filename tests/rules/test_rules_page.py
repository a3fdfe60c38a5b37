"""docs/rules.md has a row for every rule, with its level, and for none that is not there."""

from __future__ import annotations

import re

from infra.rules.book import EDIT_RULES, RESOURCE_RULES
from infra.rules.exceptions import WORDS
from tests.program.stacks import ROOT

ROW = re.compile(r"^\| `([a-z-]+)` \| (stop|warn) \|", re.MULTILINE)


def test_the_page_has_each_rule_with_its_level() -> None:
    rows = ROW.findall((ROOT / "docs" / "rules.md").read_text(encoding="utf-8"))
    rules = [(rule.id, rule.level.value) for rule in (*EDIT_RULES, *RESOURCE_RULES)]
    rules += [(rule, level.value) for rule, (level, _) in WORDS.items()]
    assert rows == rules
