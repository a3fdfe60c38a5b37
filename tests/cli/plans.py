"""Plans to print and judge, as an engine would hand them over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infra.model.plan import Op, Plan, PropertyChange, Status, Step

VM = "gcp:tpu/v2Vm:V2Vm"
POOL = "tidepool:pools:RunnerPool"
REPOSITORY = "gcp:artifactregistry/repository:Repository"


def vm_inputs(pool: str, zone: str, accelerator: str = "v5litepod-4", **more: Any) -> dict[str, Any]:
    return {
        "acceleratorType": accelerator,
        "zone": zone,
        "labels": {"tidepool-pool": pool},
        "schedulingConfig": {"preemptible": True},
        **more,
    }


def vm(op: Op, pool: str, zone: str, index: int, accelerator: str = "v5litepod-4", **more: Any) -> Step:
    inputs = vm_inputs(pool, zone, accelerator)
    name = f"{pool}-{zone}-{index}"
    step = Step(
        op=op,
        urn=f"urn:pulumi:ci::tidepool::{POOL}${VM}::{name}",
        type=VM,
        name=name,
        old_inputs=None if op is Op.CREATE else inputs,
        new_inputs=None if op is Op.DELETE else inputs,
    )
    return replace(step, **more)


def other(op: Op, token: str, name: str, **more: Any) -> Step:
    return Step(op=op, urn=f"urn:pulumi:ci::tidepool::{token}::{name}", type=token, name=name, **more)


def plan(*steps: Step, **more: Any) -> Plan:
    return replace(Plan(stack="ci", engine="local", cloud="local", steps=steps), **more)


def changed(before: Any, after: Any, *, replaces: bool = False) -> PropertyChange:
    return PropertyChange(kind="update", before=before, after=after, replaces=replaces)


MIXED = plan(
    *(vm(Op.SAME, "tpu-ci", "us-west4-a", index) for index in range(2)),
    vm(Op.CREATE, "tpu-ci", "us-west4-a", 2),
    *(vm(Op.DELETE, "tpu-ci", "us-east1-c", index) for index in range(2)),
    *(
        vm(
            Op.REPLACE,
            "tpu-v4",
            "us-central2-b",
            index,
            "v4-8",
            old_inputs=vm_inputs("tpu-v4", "us-central2-b", "v4-8"),
            new_inputs=vm_inputs("tpu-v4", "us-central2-b", "v4-32"),
            diff={
                "acceleratorType": changed("v4-8", "v4-32", replaces=True),
                "labels.team": PropertyChange(kind="add", after="core"),
            },
            replace_reasons=("acceleratorType",),
        )
        for index in range(2)
    ),
    *(
        vm(Op.UPDATE, "tpu-v6e", "europe-west4-a", index, "v6e-8", diff={"labels.owner": changed("ml", "infra")})
        for index in (0, 1, 2, 5)
    ),
    other(Op.CREATE, REPOSITORY, "us-west4-levanter"),
    other(Op.SAME, "pulumi:pulumi:Stack", "tidepool-ci"),
)
FIRST = plan(
    other(Op.CREATE, "pulumi:pulumi:Stack", "tidepool-ci"),
    *(vm(Op.CREATE, "tpu-ci", zone, index) for zone in ("us-west4-a", "us-east1-c") for index in range(2)),
    vm(Op.CREATE, "train", "us-central2-b", 0, "v4-32"),
    *(other(Op.CREATE, REPOSITORY, f"{region}-repository") for region in "abcdefghijklmnop"),
)
UNCHANGED = plan(*(vm(Op.SAME, "tpu-ci", "us-west4-a", index) for index in range(2)))
FAILED = plan(
    vm(Op.CREATE, "tpu-ci", "us-west4-a", 0, status=Status.DONE, seconds=3.21),
    vm(
        Op.CREATE,
        "tpu-ci",
        "us-west4-a",
        1,
        status=Status.FAILED,
        seconds=1.5,
        error="Error code 8, message: There is no more capacity in the zone us-west4-a",
    ),
    vm(Op.CREATE, "tpu-ci", "us-west4-a", 2, status=Status.SKIPPED),
    vm(Op.CREATE, "tpu-ci", "us-east1-c", 0, status=Status.DONE, seconds=2.0),
)
