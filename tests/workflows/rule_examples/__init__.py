"""For each rule workflows that break it and workflows that keep it; every one keeps all other rules."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflows.rule_examples.files import Example
from tests.workflows.rule_examples.limits import LIMITS
from tests.workflows.rule_examples.outcomes import OUTCOMES
from tests.workflows.rule_examples.rights import RIGHTS
from tests.workflows.rule_examples.starts import STARTS
from tests.workflows.rule_examples.wholes import WHOLES
from tests.workflows.rule_examples.wiring import WIRING

EXAMPLES: Mapping[str, Example] = {**STARTS, **LIMITS, **RIGHTS, **OUTCOMES, **WIRING, **WHOLES}
