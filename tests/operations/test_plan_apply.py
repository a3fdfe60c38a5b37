"""What is refused before an apply is planned, because it could never come to its end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from bench.cloud.control import Control
from bench.cloud.testing import TestCloud
from infra.engines import EngineName
from infra.model.stack import parse_stack
from infra.operations.declared.stack_file import Declared
from infra.operations.errors import Refusal
from infra.operations.session import Session
from infra.operations.stacks.apply import plan_apply
from tests.synthetic_lab import steady

QUEUES = """\
  tidepool:queues:
    teams: [{name: pretraining}]
"""


class _PlannedError(Exception):
    """An engine was asked for a plan."""


def _plan(engine: EngineName, endpoint: str | None, *, queues: str = QUEUES, targets: tuple[str, ...] = ()) -> None:
    """What `up` plans of the synthetic training stack; _PlannedError stands for the plan."""

    def asked(**_: Any) -> NoReturn:
        raise _PlannedError

    session = SimpleNamespace(
        endpoint=endpoint,
        choice=SimpleNamespace(engine=engine),
        request=SimpleNamespace(targets=targets),
        engine=asked,
    )
    config = parse_stack(steady("training") + queues, stack="training", source="stacks/Pulumi.training.yaml")
    plan_apply(cast(Session, session), Declared(config=config, registry=None, bounds=()))


def test_operators_are_not_waited_for_in_a_cluster_that_runs_nothing(cloud: TestCloud) -> None:
    with pytest.raises(Refusal, match=r"training has queues.*runs nothing.*--kube.*--engine local"):
        _plan(EngineName.PULUMI, cloud.url)
    Control(cloud.url).tell_control_plane("127.0.0.1:1", "Q0E=")
    with pytest.raises(_PlannedError):
        _plan(EngineName.PULUMI, cloud.url)


@pytest.mark.parametrize(
    ("engine", "local", "more"),
    [
        (EngineName.LOCAL, True, {}),
        (EngineName.PULUMI, False, {}),
        (EngineName.PULUMI, True, {"queues": ""}),
        (EngineName.PULUMI, True, {"targets": ("urn:pulumi:training::a",)}),
    ],
    ids=["by the embedded engine", "on Google", "without queues", "of targets"],
)
def test_nothing_else_is_kept_from_its_plan(
    cloud: TestCloud, engine: EngineName, local: bool, more: dict[str, Any]
) -> None:
    with pytest.raises(_PlannedError):
        _plan(engine, cloud.url if local else None, **more)
