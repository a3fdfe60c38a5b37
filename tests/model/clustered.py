"""A stack with a cluster of a synthetic lab: what tests of queues, stores and long-running work share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from infra.model.schema import StackConfig
from infra.model.stack import stack_from_pulumi

CLUSTER: Final[dict[str, Any]] = {
    "name": "train",
    "region": "us-central2",
    "zones": ["us-central2-b"],
    "maintenance": {"days": ["SA", "SU"], "start": "09:00", "hours": 8},
    "system": {"machine_type": "n2-standard-8", "nodes": 2},
}
"""Without CPU pools."""


def clustered(**sections: Any) -> StackConfig:
    """sections: of the stack file by name; None and empty lists are not said."""
    values: Mapping[str, Any] = {
        "gcp:project": "my-lab-tpus",
        "tidepool:owner": "lab",
        "tidepool:bucket": {"name": "my-lab-tpus-training", "location": "us-central2"},
        **{f"tidepool:{name}": value for name, value in sections.items()},
    }
    said = {key: value for key, value in values.items() if value not in (None, [])}
    text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in said.items()}
    return stack_from_pulumi(text, project="tidepool", stack="training")
