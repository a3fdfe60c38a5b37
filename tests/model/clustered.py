"""A stack with a cluster of a synthetic lab: what tests of queues, stores and long-running work share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from infra.model.schema import StackConfig
from infra.model.stack import stack_from_pulumi
from tests.model.given import stack_text

CLUSTER: Final[dict[str, Any]] = {
    "name": "train",
    "region": "us-central2",
    "zones": ["us-central2-b"],
    "maintenance": {"days": ["SA", "SU"], "start": "09:00", "hours": 8},
    "system": {"machine_type": "n2-standard-8", "nodes": 2},
}
"""Without CPU pools."""
ENTRY: Final = {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "number": 1}


def cluster(**fields: object) -> str:
    """A right cluster of us-central2; a value of None leaves a key out."""
    usual: dict[str, object] = {
        "name": "train",
        "region": "us-central2",
        "zones": "[us-central2-b]",
        "maintenance": "{days: [SA, SU], start: '09:00', hours: 8}",
        "system": "{machine_type: n2-standard-8}",
    }
    return "".join(f"{key}: {value}\n" for key, value in (usual | fields).items() if value is not None)


def entry(**fields: object) -> str:
    lines = [f"{key}: {value}" for key, value in (ENTRY | fields).items() if value is not None]
    return "- " + "\n  ".join(lines) + "\n"


def text(*entries: str, of: str | None = None, **sections: str) -> str:
    return stack_text(cluster=cluster() if of is None else of, slices="".join(entries) or entry(), **sections)


def batch(**fields: object) -> str:
    usual: dict[str, object] = {
        "name": "batch",
        "machine_type": "n2-highmem-16",
        "zones": "[us-central2-b]",
        "maximum": 4,
    }
    inner = ", ".join(f"{key}: {value}" for key, value in (usual | fields).items())
    return f"[{{{inner}}}]"


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
