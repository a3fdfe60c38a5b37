"""Small fleets and what workflows ask of them, right in all, to be made wrong in one place."""

from __future__ import annotations

from typing import Any

from infra.model.demand import CacheFolders, Code, Demand, Demands, ImageUse, Start
from infra.model.fit import misfits
from infra.model.schema import StackConfig
from infra.model.unclaimed import Misfit
from tests.model.given import parse, pool, stack_text

LAB = "lab/monorepo"
REGISTRIES = "regions: [us-west4, us-east1]\nrepositories:\n- {name: images}\n"
PUSH = Start(event="push", code=Code.MAIN, legs=1)
BRANCH = Start(event="pull_request", code=Code.BRANCH, legs=3)
FORK = Start(event="pull_request", code=Code.FORK, legs=3)


def fleet(pools: str = "", **sections: str) -> StackConfig:
    """The stack ci with the pool tpu-ci of two VMs for the lab's repository, and further pools."""
    first = pool(name="tpu-ci", zones="{us-west4-a: 2}", labels="[tpu, self-hosted]", serves=f"[{LAB}]")
    return parse(stack_text(pools=first + pools, **{"registries": REGISTRIES} | sections), stack="ci")


def member(**fields: object) -> str:
    """One more pool of runners."""
    return pool(**{"serves": f"[{LAB}]"} | fields)


def demand(*labels: str, **fields: Any) -> Demand:
    """A job on tpu-ci, or on what has these labels."""
    usual: dict[str, Any] = {
        "file": ".github/workflows/tests.yaml",
        "workflow": "Tests",
        "repository": LAB,
        "job": "tpu",
        "labels": labels or ("self-hosted", "tpu-ci"),
        "starts": (PUSH, BRANCH),
        "timeout_minutes": 15,
        "inner_minutes": 14,
        "cache_folder": "/opt/uv/cache",
    }
    return Demand(**usual | fields)


def asking(*demands: Demand, **fields: Any) -> Demands:
    """A list of demands, whose runners run the image tests."""
    usual: dict[str, Any] = {
        "version": 1,
        "cache": CacheFolders(images="/opt/uv/cache", start_up="/opt/uv/cache"),
        "images": (ImageUse(name="tests", stack="ci", repository="images", pools=("tpu-ci",)),),
        "demands": demands,
    }
    return Demands(**usual | fields)


def found(*demands: Demand, stacks: tuple[StackConfig, ...] = (), **fields: Any) -> tuple[Misfit, ...]:
    """What does not fit between these demands and the stacks, the usual one where none is given."""
    return misfits(stacks or (fleet(),), asking(*demands, **fields))


def said(misfits: tuple[Misfit, ...]) -> str:
    return "\n".join(map(str, misfits))
