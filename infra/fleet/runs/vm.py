"""The body of the VM for a run: as its place says, told by its metadata what to run, and by whom it may be deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from infra.model.node import STARTUP_SCRIPT_KEY
from infra.model.runs import RunPlace, RunRequest

ISOLATION: Final = "tidepool-isolation"
TOLD: Final = "tidepool-run"
_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[2]


def told(request: RunRequest, zone: str, prefix: str, run: str, tree: str) -> str:
    """What the VM in a zone is told, as its metadata has it. prefix, run, tree: as `RunRequest.told` takes them."""
    carried = {Path(each).name: (_ROOT / each).read_text(encoding="utf-8") for each in request.carried}
    return json.dumps(request.told(prefix, run, zone=zone, tree=tree, carried=carried))


def node_body(place: RunPlace, labels: Mapping[str, str], about: str, told: str) -> dict[str, Any]:
    """The body of `nodes.create`. labels: those of the run. about: whose VM it is, for people."""
    return {
        **place.node,
        "description": f"Tidepool {about}",
        "labels": {**place.node.get("labels", {}), **labels},
        "metadata": {
            STARTUP_SCRIPT_KEY: guest_program(),
            TOLD: told,
            ISOLATION: (_HERE.parent / "runner" / "isolation.sh").read_text(encoding="utf-8"),
        },
    }


def guest_program() -> str:
    """The start-up script of a VM for one run."""
    return f"#!/usr/bin/env python3\n{(_HERE / 'guest.py').read_text(encoding='utf-8')}"
