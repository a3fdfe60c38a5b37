"""TPU VMs and a bucket on a fake API, whose time passes where somebody sleeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import httplib2
from googleapiclient.errors import HttpError

from infra.engines.away import AwayVm
from infra.engines.standing import vm_urn
from infra.fleet.google import Api, GoogleError
from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import VM_TYPE

HOME, AWAY = "us-west4-a", "us-west1-c"
FIRST, SECOND, BY_HOUR, OTHER = f"a-{HOME}-0", f"a-{HOME}-1", f"a-{HOME}-2", f"b-{AWAY}-0"
STACK = """\
config:
  gcp:project: my-lab
  tidepool:owner: team
  tidepool:bucket: {name: lab-records, location: us}
  tidepool:quotas:
    - {project: my-lab, zone: us-west4-a, generation: v5e, chips: 64, kind: preemptible}
    - {project: my-lab, zone: us-west1-c, generation: v5e, chips: 64, kind: preemptible}
  tidepool:pools:
    - name: a
      accelerator: v5litepod-4
      zones: {us-west4-a: 2}
      capacity: spot
      trust: member
      fallback: [{zone: us-west1-c, capacity: spot}]
      windows: [{name: night, start: 0 2 * * *, duration: 2h, time_zone: UTC, adds: {us-west4-a: 1}}]
    - {name: b, accelerator: v5litepod-4, zones: {us-west1-c: 1}, capacity: spot, trust: member}
"""
BROKEN = "config: {tidepool:pools: 7}\n"
OWN = {"tidepool-managed": "true", "tidepool-owner": "team", "tidepool-stack": "lone", "tidepool-pool": "a"}
THEIRS = {"tidepool-managed": "true", "tidepool-owner": "others", "tidepool-stack": "far", "tidepool-pool": "x"}
BEGIN = 500.0


def id_of(name: str, zone: str = HOME) -> str:
    return f"projects/my-lab/locations/{zone}/nodes/{name}"


def refusal(status: int) -> HttpError:
    return HttpError(httplib2.Response({"status": status}), json.dumps({"error": {"message": "no"}}).encode())


@dataclass
class Request:
    """One of the API, sent with `execute` as googleapiclient's are."""

    answer: Callable[[], Any]

    def execute(self, *, num_retries: int) -> Any:
        assert num_retries
        return self.answer()


@dataclass
class Cloud:
    """TPU VMs, two to a page, and a bucket; its time passes where somebody sleeps.

    refusing: statuses of calls, by method and name. failing: how many calls of them are refused, where not all.
    after: what happens at the end of each sleep, in turn; by default what is being deleted is gone.
    """

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    refusing: dict[str, int] = field(default_factory=dict)
    failing: dict[str, int] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    lacking: bool = False
    manifest: Any = None
    asked: list[str] = field(default_factory=list)
    sent: list[tuple[str, str, Any]] = field(default_factory=list)
    after: list[Callable[[], object]] = field(default_factory=list)
    sleeps: list[float] = field(default_factory=list)
    now: float = BEGIN

    # What the modules import.

    def clients(self, project: str, endpoint: str | None) -> Any:
        assert (project, endpoint) == ("my-lab", "http://cloud/")
        if self.lacking:
            raise GoogleError("finding Google credentials", "none")
        return self

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        assert len(self.sleeps) < 10_000, "this never ends"
        self.now += seconds
        self.after.pop(0)() if self.after else self.gone()

    def gone(self) -> None:
        self.nodes = {id_: node for id_, node in self.nodes.items() if node.get("state") != "DELETING"}

    # The API.

    def __enter__(self) -> Cloud:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def api(self, api: Api) -> Any:
        below = SimpleNamespace(nodes=lambda: self.tpu)
        if api is Api.STORAGE:
            return SimpleNamespace(
                objects=lambda: SimpleNamespace(get=self.head, get_media=self.media), buckets=self.of
            )
        assert api is Api.TPU
        return SimpleNamespace(projects=lambda: SimpleNamespace(locations=lambda: below))

    @property
    def tpu(self) -> Any:
        """What `projects.locations.nodes` has."""
        calls = {"list": self.listed, "list_next": self.list_next, "get": self.get}
        return SimpleNamespace(**calls, delete=self.delete, patch=self.patch)

    def of(self) -> Any:
        return SimpleNamespace(get=lambda bucket, fields: self._request("bucket", bucket, lambda: {"name": bucket}))

    def head(self, **of: str) -> Request:
        found = {"generation": "1", "size": "9", "updated": "2026-11-01T00:00:00+00:00"}
        return self._request("object", of["object"], lambda: found if self.manifest is not None else self._no(404))

    def media(self, **_: str) -> Request:
        return Request(lambda: json.dumps(self.manifest).encode())

    def listed(self, *, parent: str, pageSize: int) -> Request:  # noqa: N803 - as the API calls it
        assert pageSize <= 1000, "Google refuses more"
        return self._request("list", parent, lambda: self._page(parent, 0))

    def list_next(self, last: Request, page: Mapping[str, Any]) -> Request | None:
        assert isinstance(last, Request), "googleapiclient makes the next request from the last"
        if "nextPageToken" not in page:
            return None
        parent, begin = page["nextPageToken"]
        return Request(lambda: self._page(parent, begin))

    def _page(self, parent: str, begin: int) -> dict[str, Any]:
        place = "" if parent.endswith("/-") else f"{parent}/"
        found = [{"name": id_, **node} for id_, node in self.nodes.items() if id_.startswith(place)]
        page: dict[str, Any] = {"nodes": found[begin : begin + 2]} if found[begin:] else {}
        if found[begin + 2 :]:
            return page | {"nextPageToken": (parent, begin + 2)}
        return page | ({"unreachable": list(self.unreachable)} if self.unreachable else {})

    def get(self, *, name: str) -> Request:
        return self._request("get", name, lambda: self.nodes.get(name) or self._no(404))

    def delete(self, *, name: str) -> Request:
        return self._request("delete", name, lambda: self.nodes[name].update(state="DELETING"))

    def patch(self, *, name: str, updateMask: str, body: Any) -> Request:  # noqa: N803 - as the API calls it
        return self._request("patch", name, lambda: self.sent.append((name, updateMask, body)))

    def _request(self, method: str, name: str, answer: Callable[[], Any]) -> Request:
        return Request(lambda: self._answered(f"{method} {name}", answer))

    def _answered(self, call: str, answer: Callable[[], Any]) -> Any:
        self.asked.append(call)
        if call in self.refusing and self.failing.get(call, 1):
            self.failing[call] = self.failing.get(call, 0) - 1
            self._no(self.refusing[call])
        return answer()

    def _no(self, status: int) -> Any:
        raise refusal(status)

    def calls(self, method: str) -> list[str]:
        return [each.partition(" ")[2] for each in self.asked if each.startswith(f"{method} ")]


def own(name: str = FIRST, state: str = "READY", **more: Any) -> dict[str, Any]:
    return {"state": state, "labels": {**OWN, "tidepool-pool": name[0]}, "acceleratorType": "v5litepod-4", **more}


def stands(cloud: Cloud, *names: str, zone: str = HOME, **more: Any) -> None:
    cloud.nodes |= {id_of(each, zone): own(each, **more) for each in names}


def step(op: Op, name: str, old: Mapping[str, Any] | None = None, new: Mapping[str, Any] | None = None) -> Step:
    return Step(op=op, urn=vm_urn("lone", name), type=VM_TYPE, name=name, old_inputs=old, new_inputs=new)


def plan(*steps: Step) -> Plan:
    return Plan(stack="lone", engine="local", cloud="local", steps=steps)


def at(zone: str) -> dict[str, str]:
    return {"project": "my-lab", "zone": zone}


def vm(name: str = FIRST, zone: str = AWAY, node: Mapping[str, Any] | None = None, **more: Any) -> AwayVm:
    return AwayVm(id=id_of(name, zone), node=own(name) if node is None else node, **{"alone": True, **more})
