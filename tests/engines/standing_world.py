"""A stack file with one pool, the embedded engine that applies it, and a cloud in which VMs come without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.cloud.testing import TestCloud
from bench.embedded import EmbeddedEngine
from infra.engines.protocol import CloudName, EngineRequest
from infra.fleet.bundle import STUB
from infra.fleet.google import Api, clients, execute
from infra.model import fleet
from infra.model.node import node_spec
from infra.model.plan import Plan
from infra.model.planned_capacity import VM_TYPE
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from tests.synthetic_lab import lend

ZONE = "us-west4-a"
STACK = """\
config:
  gcp:project: my-lab
  tidepool:owner: team
  tidepool:bucket: {{name: lab-records, location: us}}
  tidepool:pools:
    - {{name: tpu-ci, accelerator: {accelerator}, zones: {{us-west4-a: {count}}}, capacity: spot, trust: member}}
"""


@dataclass(frozen=True)
class StandingWorld:
    """request: of the stack `lone`. cloud: where its VMs are."""

    request: EngineRequest
    cloud: TestCloud

    @classmethod
    def at(cls, folder: Path, cloud: TestCloud) -> StandingWorld:
        root = lend(folder / "checkout")
        for path in (root / "stacks").iterdir():
            path.unlink()
        home = folder / "home"
        home.mkdir()
        request = EngineRequest(root=root, home=home, stack="lone", cloud=CloudName.LOCAL, cloud_url=cloud.url)
        return cls(request=request, cloud=cloud)

    def declare(self, count: int, accelerator: str = "v5litepod-4") -> None:
        text = STACK.format(count=count, accelerator=accelerator)
        (self.request.root / "stacks" / "Pulumi.lone.yaml").write_text(text)

    @property
    def engine(self) -> EmbeddedEngine:
        return self.engine_of()

    def engine_of(self, **options: Any) -> EmbeddedEngine:
        return EmbeddedEngine(replace(self.request, **options), environ={"PULUMI_CONFIG_PASSPHRASE": "words"})

    @property
    def config(self) -> StackConfig:
        return load_stack(self.request.root, self.request.stack)

    @property
    def names(self) -> list[str]:
        """The declared VMs, in the order of their slots."""
        return [slot.name for slot in fleet.slots(self.config)]

    def make(self, index: int, labels: Mapping[str, str] | None = None) -> str:
        """Make a declared VM over REST as a controller does; its name. labels: in place of its own."""
        slot = fleet.slots(self.config)[index]
        node = node_spec(self.config, slot, startup_script=STUB.read_text(encoding="utf-8")).to_api()
        body = node if labels is None else {**node, "labels": dict(labels)}
        with clients("my-lab", self.cloud.url) as google:
            api = google.api(Api.TPU).projects().locations().nodes()
            parent = f"projects/my-lab/locations/{slot.zone}"
            execute(api.create(parent=parent, nodeId=slot.name, body=body), f"making {slot.name}")
        self.cloud.control.advance(600)
        return slot.name

    def vms(self) -> dict[str, dict[str, Any]]:
        with clients("my-lab", self.cloud.url) as google:
            api = google.api(Api.TPU).projects().locations().nodes()
            found = execute(api.list(parent="projects/my-lab/locations/-"), "listing VMs")
        return {node["name"].rpartition("/")[2]: node for node in found.get("nodes", ())}

    @property
    def checkpoint(self) -> Path:
        return self.request.home / "state" / "local" / ".pulumi" / "stacks" / "tidepool" / "lone.json"

    def state(self) -> dict[str, Any]:
        """The checkpoint's VMs by name."""
        return {name: resource for (kind, name), resource in self.resources().items() if kind == VM_TYPE}

    def resources(self) -> dict[tuple[str, str], Any]:
        """The checkpoint's resources by type and name."""
        resources = json.loads(self.checkpoint.read_text())["checkpoint"]["latest"].get("resources") or ()
        return {(resource["type"], resource["urn"].rpartition("::")[2]): resource for resource in resources}

    def mark(self, vm: str, **marks: Any) -> None:
        """Give a VM's state what another engine may have left there."""
        resources = self.resources()
        resources[VM_TYPE, vm] |= marks
        self.keep(resources)

    def interrupt(self, kind: str, resource: Mapping[str, Any]) -> None:
        """Leave an operation in flight in the checkpoint, as a run of the pulumi CLI that was killed does."""
        document = json.loads(self.checkpoint.read_text())
        document["checkpoint"]["latest"]["pending_operations"] = [{"type": kind, "resource": dict(resource)}]
        self.checkpoint.write_text(json.dumps(document))

    def unprotect(self) -> None:
        self.keep({key: {**resource, "protect": False} for key, resource in self.resources().items()})

    def keep(self, resources: Mapping[tuple[str, str], Any]) -> None:
        """Write a checkpoint with just these resources."""
        document = json.loads(self.checkpoint.read_text())
        document["checkpoint"]["latest"]["resources"] = list(resources.values())
        self.checkpoint.write_text(json.dumps(document))


def changed(plan: Plan) -> dict[str, str]:
    """What a plan or a run does, by name. The manifest is left out: it changes with every count."""
    return {
        step.name: step.op.value
        for step in plan.steps
        if step.op.value not in ("same", "read") and not step.name.startswith("manifests/")
    }
