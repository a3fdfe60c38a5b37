"""How VMs are looked for that the state lacks or has elsewhere: what is asked, waited for and told, on a fake API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httplib2
import pytest
from googleapiclient.errors import HttpError

from infra.engines import away, standing, strays
from infra.engines.away import AwayVm, Fallbacks, vms_away
from infra.engines.protocol import CloudName, EngineRequest
from infra.engines.standing import PATIENCE, StandingVm, foreign_vms, insist_planned, nodes_in, pause, unadopted, vm_urn
from infra.engines.strays import OwnVms, Recorded, delete_strays, for_engine, plan_strays, targets_of_destroy
from infra.fleet.bundle import STUB
from infra.fleet.google import Api, GoogleError
from infra.model import fleet
from infra.model.errors import EngineError
from infra.model.node import node_spec
from infra.model.plan import Diagnostic, Event, Op, Plan, Status, Step, StepEnded, StepStarted
from infra.model.planned_capacity import VM_TYPE, CapacityPlace
from infra.model.stack import load_stack

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
OWN = {"tidepool-owner": "team", "tidepool-stack": "lone", "tidepool-pool": "a"}
THEIRS = {"tidepool-owner": "others", "tidepool-stack": "far", "tidepool-pool": "x"}
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


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Cloud:
    made = Cloud()
    for module in (standing, away, strays):
        monkeypatch.setattr(module, "clients", made.clients)
        if hasattr(module, "time"):
            monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def request_(tmp_path: Path) -> EngineRequest:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.lone.yaml").write_text(STACK)
    return EngineRequest(root=tmp_path, home=tmp_path, stack="lone", cloud=CloudName.LOCAL, cloud_url="http://cloud/")


def own(name: str = FIRST, state: str = "READY", **more: Any) -> dict[str, Any]:
    return {"state": state, "labels": {**OWN, "tidepool-pool": name[0]}, "acceleratorType": "v5litepod-4", **more}


def stands(cloud: Cloud, *names: str, zone: str = HOME, **more: Any) -> None:
    cloud.nodes |= {id_of(each, zone): own(each, **more) for each in names}


# Lists


def test_a_list_is_read_to_its_last_page(cloud: Cloud) -> None:
    stands(cloud, "c", "a", "b", "d", "e")
    found = nodes_in(cloud.tpu, f"projects/my-lab/locations/{HOME}")
    assert [node["name"] for node in found] == [id_of(each) for each in "cabde"]


def test_a_place_without_vms_has_none(cloud: Cloud) -> None:
    assert nodes_in(cloud.tpu, "projects/my-lab/locations/x") == []


def test_a_place_that_a_list_leaves_out_makes_it_none(cloud: Cloud) -> None:
    cloud.unreachable = ("us-west1-b", "us-west1-c")
    with pytest.raises(GoogleError) as caught:
        nodes_in(cloud.tpu, "projects/my-lab/locations/-")
    why = "listing TPU VMs of projects/my-lab/locations/- failed: us-west1-b, us-west1-c did not answer"
    assert str(caught.value) == why


# What stands and the state lacks


@dataclass
class Look:
    """A look of `unadopted`. said: what it told, as `severity: message`."""

    request: EngineRequest
    said: list[str] = field(default_factory=list)

    def names(self, *known: str, waits: bool = False, insists: bool = False) -> list[str]:
        return [each.slot.name for each in self.found(known, waits=waits, insists=insists)]

    def found(self, known: Iterable[str] = (), **how: bool) -> tuple[StandingVm, ...]:
        def say(told: Diagnostic) -> None:
            self.said.append(f"{told.severity}: {told.message}")

        return unadopted(self.request, frozenset(known), say, **{"waits": False, **how})


@pytest.fixture
def look(request_: EngineRequest) -> Look:
    return Look(request_)


def test_declared_vms_that_stand_outside_the_state_are_found_with_what_is_known_of_them(
    cloud: Cloud, look: Look
) -> None:
    stands(cloud, SECOND, FIRST, "a-stranger")
    stands(cloud, OTHER, zone=AWAY)
    found = look.found([id_of(SECOND)])
    assert [(each.id, each.slot.name) for each in found] == [(id_of(OTHER, AWAY), OTHER), (id_of(FIRST), FIRST)]
    assert found[1].labels == OWN
    assert found[1].node["acceleratorType"] == "v5litepod-4"
    assert look.said == []


def test_zones_whose_slots_the_state_has_are_not_asked(cloud: Cloud, look: Look) -> None:
    assert look.names(id_of(OTHER, AWAY)) == []
    assert cloud.calls("list") == [f"projects/my-lab/locations/{HOME}"]
    cloud.lacking = True
    assert look.names(id_of(OTHER, AWAY), id_of(FIRST), id_of(SECOND)) == []
    assert look.said == [], "nobody is asked, so nobody fails to answer"


UNKNOWN = "unknown whether VMs exist that the state lacks"


@pytest.mark.parametrize(("insists", "severity"), [(False, "warning"), (True, "error")])
def test_zones_that_do_not_answer_are_told_together_and_the_others_are_looked_at(
    cloud: Cloud, look: Look, insists: bool, severity: str
) -> None:
    stands(cloud, FIRST)
    cloud.refusing[f"list projects/my-lab/locations/{AWAY}"] = 403
    assert look.names(insists=insists) == [FIRST]
    why = f"listing TPU VMs of projects/my-lab/locations/{AWAY} failed: no (403)"
    assert look.said == [f"{severity}: {AWAY}: {UNKNOWN} ({why})"]
    cloud.refusing[f"list projects/my-lab/locations/{HOME}"] = 404
    assert look.names(insists=insists) == []
    assert look.said[1:] == [f"{severity}: {AWAY}, {HOME}: {UNKNOWN} ({why})"]


def test_without_credentials_every_zone_is_unknown(cloud: Cloud, look: Look) -> None:
    cloud.lacking = True
    assert look.names() == []
    assert look.said == [f"warning: {AWAY}, {HOME}: {UNKNOWN} (finding Google credentials failed: none)"]


def test_an_apply_waits_until_nodes_stand_or_are_gone_and_says_so_once(cloud: Cloud, look: Look) -> None:
    stands(cloud, FIRST, state="CREATING")
    stands(cloud, SECOND, state="DELETING")
    cloud.after = [lambda: None, cloud.gone, lambda: cloud.nodes[id_of(FIRST)].update(state="READY")]
    assert look.names(waits=True) == [FIRST]
    assert cloud.sleeps == [0.2] * 3
    assert look.said == [f"info: waiting for {FIRST}, {SECOND}: being created or deleted, and not in the state"]


def test_a_preview_takes_nodes_as_they_are_and_those_that_go_as_gone(cloud: Cloud, look: Look) -> None:
    stands(cloud, FIRST, state="CREATING")
    stands(cloud, SECOND, state="DELETING")
    assert look.names() == [FIRST]
    assert (cloud.sleeps, look.said) == ([], [])


def test_an_apply_does_not_wait_for_what_stands(cloud: Cloud, look: Look) -> None:
    stands(cloud, FIRST)
    assert look.names(waits=True) == [FIRST]
    assert (cloud.sleeps, look.said) == ([], [])


def test_an_apply_waits_twenty_minutes_and_no_look_longer(
    cloud: Cloud, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "pause", lambda _: PATIENCE / 4)
    stands(cloud, FIRST, state="CREATING")
    assert look.names(waits=True) == [FIRST]
    assert cloud.now == BEGIN + 1200


def test_google_is_asked_every_ten_seconds_and_the_local_cloud_at_once(request_: EngineRequest) -> None:
    assert (pause(request_), pause(replace(request_, cloud_url=None))) == (0.2, 10.0)


def test_vms_of_others_are_refused_with_whose_they_are_and_what_to_do(cloud: Cloud, look: Look) -> None:
    cloud.nodes = {
        id_of(FIRST): own() | {"labels": {"tidepool-owner": "others", "tidepool-pool": "x"}},
        id_of(SECOND): own() | {"labels": {**OWN, "tidepool-pool": "b"}},
        id_of(OTHER, AWAY): own(OTHER),
    }
    with pytest.raises(EngineError) as caught:
        look.names()
    needs = "tidepool-owner=team, tidepool-stack=lone, tidepool-pool=a"
    advice = (
        "Where tidepool:owner was edited, take that back, run `./tidepool adopt` and edit it again; else rename pool a,"
        " have the VM's owner delete it, or take it over: `./tidepool adopt lone "
    )
    assert str(caught.value) == (
        "VMs that are not this stack's have the names of declared ones; nothing was changed:\n"
        f"{FIRST} in {HOME} exists with the labels tidepool-owner=others, tidepool-stack=(none), tidepool-pool=x;"
        f" a VM of this stack has {needs}. {advice}{FIRST}`\n"
        f"{SECOND} in {HOME} exists with the labels tidepool-owner=team, tidepool-stack=lone, tidepool-pool=b;"
        f" a VM of this stack has {needs}. {advice}{SECOND}`"
    )


def test_a_vm_of_others_that_a_person_claims_is_found_as_any(cloud: Cloud, request_: EngineRequest) -> None:
    cloud.nodes[id_of(FIRST)] = {"state": "READY"}
    assert Look(replace(request_, claims=(vm_urn("lone", FIRST),))).names() == [FIRST]
    with pytest.raises(EngineError, match=r"tidepool-owner=\(none\)"):
        Look(replace(request_, claims=(vm_urn("lone", SECOND),))).names()


# Between a plan and its apply


def step(op: Op, name: str, old: Mapping[str, Any] | None = None, new: Mapping[str, Any] | None = None) -> Step:
    return Step(op=op, urn=vm_urn("lone", name), type=VM_TYPE, name=name, old_inputs=old, new_inputs=new)


def plan(*steps: Step) -> Plan:
    return Plan(stack="lone", engine="local", cloud="local", steps=steps)


def test_vms_that_the_plan_was_going_to_make_are_refused_by_name(cloud: Cloud, look: Look) -> None:
    stands(cloud, FIRST, SECOND)
    stands(cloud, OTHER, zone=AWAY)
    found = look.found()
    with pytest.raises(EngineError) as caught:
        insist_planned(found, plan(step(Op.CREATE, SECOND), step(Op.CREATE, FIRST), step(Op.ADOPT, OTHER)))
    assert str(caught.value) == (
        f"{FIRST}, {SECOND}: made by another since the plan was shown, so that the plan is another now; "
        "nothing was changed, run up again"
    )
    insist_planned(found, plan(step(Op.ADOPT, FIRST), step(Op.UPDATE, SECOND)))
    insist_planned(found, None)


# Creates in flight


def inputs(name: str, **more: Any) -> dict[str, Any]:
    return {"project": "my-lab", "zone": HOME, "name": name, "labels": OWN, **more}


def test_of_creates_in_flight_those_are_anothers_whose_labels_say_so(cloud: Cloud, request_: EngineRequest) -> None:
    cloud.nodes = {
        id_of("mine"): {"labels": {**OWN, "colour": "blue"}},
        id_of("theirs"): {"labels": THEIRS},
        id_of("half"): {"labels": {**OWN, "tidepool-pool": "b"}},
        id_of("bare"): {"state": "READY"},
        id_of("secret"): {"labels": THEIRS},
        id_of("unlabelled"): {"state": "READY"},
        id_of("named-alone"): {"labels": THEIRS},
    }
    cloud.refusing[f"get {id_of('secret')}"] = 403
    creates = [inputs(each) for each in ("absent", "secret", "mine", "theirs", "half", "bare")]
    creates += [inputs("unlabelled", labels=None), {"project": "my-lab", "zone": HOME}]
    creates += [{"project": "my-lab", "zone": HOME, "name": "named-alone"}]
    foreign = {id_of(each) for each in ("theirs", "half", "bare", "named-alone")}
    assert foreign_vms(request_, creates) == foreign


def test_where_no_create_is_known_by_its_name_nobody_is_asked(cloud: Cloud, request_: EngineRequest) -> None:
    cloud.lacking = True
    assert foreign_vms(request_, [{"name": FIRST, "labels": THEIRS}]) == frozenset()


# VMs that stand away from home


def vm(name: str = FIRST, zone: str = AWAY, node: Mapping[str, Any] | None = None, **more: Any) -> AwayVm:
    return AwayVm(id=id_of(name, zone), node=own(name) if node is None else node, **{"alone": True, **more})


def test_a_vm_away_says_what_it_is_and_where_it_counts() -> None:
    found = vm(node=own(schedulingConfig={"spot": True}))
    assert (found.name, found.project, found.zone, str(found)) == (FIRST, "my-lab", AWAY, f"{FIRST} in {AWAY}")
    assert found.place == CapacityPlace(pool="a", zone=AWAY, accelerator="v5litepod-4", capacity="spot")
    assert found.whose == "neither declared nor in the state"
    assert vm(in_window=True).whose == "there by its window"


def at(zone: str) -> dict[str, str]:
    return {"project": "my-lab", "zone": zone}


def test_vms_are_away_where_a_plan_has_them_elsewhere_or_not_at_all(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, SECOND, OTHER, BY_HOUR, zone=AWAY)
    stands(cloud, FIRST, SECOND)
    stands(cloud, FIRST, zone="us-west1-a", state="DELETING")
    steps = (
        step(Op.SAME, FIRST, at(HOME), at(HOME)),
        step(Op.DELETE, SECOND, at(HOME)),
        step(Op.CREATE, OTHER, None, at(HOME)),
        replace(step(Op.DELETE, BY_HOUR, at(AWAY)), type="gcp:storage/bucket:Bucket"),
    )
    said: list[Diagnostic] = []
    found = vms_away(request_, plan(*steps), said.append)
    assert [(each.id, each.alone, each.in_window) for each in found.vms] == [
        (id_of(SECOND, AWAY), False, False),
        (id_of(BY_HOUR, AWAY), True, True),
        (id_of(OTHER, AWAY), True, False),
    ]
    assert [each.name for each in found.leaving] == [SECOND, OTHER]
    assert [each.name for each in found.strays] == [BY_HOUR]
    assert found.home == {each: {"name": id_of(each), **cloud.nodes[id_of(each)]} for each in (FIRST, SECOND)}
    assert found.vms[1].node["acceleratorType"] == "v5litepod-4"
    assert said == []


def test_a_vm_is_at_home_both_where_it_was_and_where_it_comes(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST)
    stands(cloud, FIRST, zone=AWAY)
    stands(cloud, FIRST, zone="us-west1-a")
    found = vms_away(request_, plan(step(Op.REPLACE, FIRST, at(HOME), at(AWAY))), lambda _: None)
    assert [(each.zone, each.alone) for each in found.leaving] == [("us-west1-a", False)]
    assert found.delete(found.leaving) == {}
    assert cloud.calls("delete") == [id_of(FIRST, "us-west1-a")]


def test_inputs_that_do_not_say_where_make_no_home(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST)
    found = vms_away(request_, plan(step(Op.UPDATE, FIRST, {"zone": HOME}, {"project": "my-lab"})), lambda _: None)
    assert [each.id for each in found.changing] == [id_of(FIRST)]


def test_a_vm_is_changed_away_where_nothing_of_it_stands_at_home() -> None:
    vms = (vm(FIRST), vm(SECOND, alone=False), vm(OTHER))
    steps = (step(Op.UPDATE, FIRST), step(Op.UPDATE, SECOND), step(Op.SAME, OTHER))
    found = Fallbacks(None, vms, plan(*steps))
    assert (found.changing, found.leaving, found.strays) == (vms[:1], (), ())
    assert Fallbacks(None, vms).strays == vms
    assert (Fallbacks().vms, Fallbacks().home) == ((), {})


@pytest.mark.parametrize("op", [Op.SAME, Op.ADOPT, Op.RETAIN])
def test_a_plan_that_changes_no_vm_asks_nobody(cloud: Cloud, request_: EngineRequest, op: Op) -> None:
    cloud.lacking = True
    said: list[Diagnostic] = []
    assert vms_away(request_, plan(step(op, FIRST, at(HOME))), said.append).vms == ()
    assert said == []


def test_vms_away_that_cannot_be_listed_are_warned_of(cloud: Cloud, request_: EngineRequest) -> None:
    cloud.lacking = True
    said: list[Diagnostic] = []
    assert vms_away(request_, plan(step(Op.UPDATE, FIRST, at(HOME))), said.append).vms == ()
    why = "finding Google credentials failed: none"
    text = f"VMs at fallbacks are not known ({why}): this apply may reach a limit"
    assert said == [Diagnostic(severity="warning", message=text)]


def declared(request: EngineRequest, index: int = 0) -> dict[str, Any]:
    """What the first slots of pool `a` say of a node at their fallback."""
    config = load_stack(request.root, "lone")
    (here,) = fleet.fallbacks(fleet.pool_slots(config, config.pools[0])[index])
    return node_spec(config, here, startup_script=STUB.read_text(encoding="utf-8")).to_api()


def test_only_what_differs_of_a_vm_is_changed_where_it_stands(cloud: Cloud, request_: EngineRequest) -> None:
    whole = declared(request_)
    without = {key: value for key, value in whole.items() if key != "tags"}
    there = vm(node={**without, "labels": {}, "runtimeVersion": "old"})
    assert Fallbacks(request_).change([there, vm(SECOND, node=declared(request_, 1))]) == {}
    assert cloud.sent == [(there.id, "labels,tags", {"labels": whole["labels"], "tags": whole["tags"]})]


def test_a_vm_where_no_fallback_is_declared_has_what_its_slot_says(cloud: Cloud, request_: EngineRequest) -> None:
    there = vm(zone="us-east5-a", node={**declared(request_), "metadata": {}})
    assert Fallbacks(request_).change([there]) == {}
    ((_, mask, body),) = cloud.sent
    assert (mask, body["metadata"]["tidepool-region"]) == ("metadata", "us-west4")


def test_changes_fail_each_by_its_vm(cloud: Cloud, request_: EngineRequest) -> None:
    cloud.refusing[f"patch {id_of(FIRST, AWAY)}"] = 403
    vms = [vm(FIRST), vm(SECOND)]
    failed = {f"{FIRST} in {AWAY}": f"changing {FIRST} in {AWAY} failed: no (403)"}
    assert Fallbacks(request_).change(vms) == failed
    assert [each[0] for each in cloud.sent] == [id_of(SECOND, AWAY)]
    cloud.lacking = True
    why = "finding Google credentials failed: none"
    assert Fallbacks(request_).change(vms) == {f"{FIRST} in {AWAY}": why, f"{SECOND} in {AWAY}": why}


def test_deletes_fail_each_by_its_vm(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, SECOND, zone=AWAY)
    cloud.refusing[f"delete {id_of(SECOND, AWAY)}"] = 403
    vms = [vm(FIRST), vm(SECOND)]
    failed = {f"{SECOND} in {AWAY}": f"deleting {id_of(SECOND, AWAY)} failed: no (403)"}
    assert Fallbacks(request_).delete(vms) == failed
    assert cloud.nodes.keys() == {id_of(SECOND, AWAY)}
    assert cloud.sleeps == [0.2]
    cloud.lacking = True
    why = "finding Google credentials failed: none"
    assert Fallbacks(request_).delete(vms) == {f"{FIRST} in {AWAY}": why, f"{SECOND} in {AWAY}": why}


def test_a_stack_file_with_mistakes_lets_no_vm_be_deleted_and_says_why(cloud: Cloud, request_: EngineRequest) -> None:
    (request_.root / "stacks" / "Pulumi.lone.yaml").write_text(BROKEN)
    failed = Fallbacks(request_).delete([vm()])
    assert "Pulumi.lone.yaml" in failed[f"{FIRST} in {AWAY}"]
    assert cloud.asked == []


def test_no_vms_are_changed_and_deleted_without_asking_anybody(cloud: Cloud, request_: EngineRequest) -> None:
    cloud.lacking = True
    assert (Fallbacks(request_).change([]), Fallbacks(request_).delete([])) == ({}, {})
    assert (Fallbacks().change([vm()]), Fallbacks().delete([vm()])) == ({}, {})


# Strays


def own_vms(cloud: Cloud, request: EngineRequest, *known: str, every: float = 1.0) -> OwnVms:
    google: Any = cloud
    return OwnVms(google, load_stack(request.root, "lone"), frozenset(known), every)


def test_a_stacks_own_vms_are_those_with_its_labels_that_are_not_known(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, SECOND)
    stands(cloud, FIRST, zone=AWAY)
    cloud.nodes |= {
        id_of("theirs"): {"labels": {**OWN, "tidepool-owner": "others"}},
        id_of("far"): {"labels": {**OWN, "tidepool-stack": "far"}},
        id_of("bare"): {"state": "READY"},
    }
    found = own_vms(cloud, request_, id_of(SECOND)).standing()
    assert found == {id_: {"name": id_, **cloud.nodes[id_]} for id_ in (id_of(FIRST), id_of(FIRST, AWAY))}


@pytest.mark.parametrize(
    ("manifest", "owners"),
    [(None, ["team"]), ({"owner": "former"}, ["team", "former"]), ({"pools": []}, ["team"])],
)
def test_a_vm_has_the_declared_owner_or_the_one_applied_last(
    cloud: Cloud, request_: EngineRequest, manifest: Any, owners: list[str]
) -> None:
    cloud.manifest = manifest
    cloud.nodes = {id_of(each): {"labels": {**OWN, "tidepool-owner": each}} for each in ("team", "former", "others")}
    assert [*own_vms(cloud, request_).standing()] == [id_of(each) for each in owners]
    assert cloud.calls("object") == ["manifests/lone.json"]


def test_without_a_bucket_the_declared_owner_counts_and_a_closed_one_is_an_error(
    cloud: Cloud, request_: EngineRequest
) -> None:
    stands(cloud, FIRST)
    cloud.refusing["bucket lab-records"] = 404
    assert own_vms(cloud, request_).standing().keys() == {id_of(FIRST)}
    assert "bucket lab-records" in cloud.asked
    cloud.refusing["bucket lab-records"] = 403
    with pytest.raises(GoogleError, match="403"):
        own_vms(cloud, request_)


def deleted(cloud: Cloud, request: EngineRequest, **how: float) -> dict[str, tuple[Status, float | None, str | None]]:
    """The steps of a deletion of all that stands, by id."""
    work = own_vms(cloud, request, **how)
    found = work.standing()
    steps = list(work.delete(found))
    return {id_: (each.status, each.seconds, each.error) for id_, each in zip(found, steps, strict=True)}


def test_each_vm_is_deleted_once_and_waited_for_and_says_how_long_it_took(
    cloud: Cloud, request_: EngineRequest
) -> None:
    stands(cloud, FIRST, SECOND)
    stands(cloud, BY_HOUR, state="DELETING")
    cloud.after = [lambda: cloud.nodes.pop(id_of(FIRST)), lambda: None]
    ended = deleted(cloud, request_, every=0.12345)
    assert ended == {id_of(each): (Status.DONE, 0.37, None) for each in (FIRST, SECOND, BY_HOUR)}
    assert cloud.calls("delete") == [id_of(FIRST), id_of(SECOND)], "the third was going already"


def test_a_vm_that_google_does_not_find_is_on_its_way(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST)
    cloud.refusing[f"delete {id_of(FIRST)}"] = 404
    cloud.after = [lambda: None, cloud.nodes.clear]
    assert deleted(cloud, request_) == {id_of(FIRST): (Status.DONE, 2.0, None)}
    assert cloud.calls("delete") == [id_of(FIRST)]


def test_refused_deletes_fail_at_once_with_their_reasons(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, SECOND)
    cloud.refusing |= {f"delete {id_of(FIRST)}": 403, f"delete {id_of(SECOND)}": 409}
    assert deleted(cloud, request_) == {
        id_of(FIRST): (Status.FAILED, 0.0, f"deleting {id_of(FIRST)} failed: no (403)"),
        id_of(SECOND): (Status.FAILED, 0.0, f"deleting {id_of(SECOND)} failed: no (409)"),
    }
    assert cloud.sleeps == []


def test_a_refused_delete_is_tried_again_as_long_as_another_goes(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, SECOND)
    cloud.refusing[f"delete {id_of(FIRST)}"] = 409
    cloud.after = [lambda: None, cloud.gone]
    why = f"deleting {id_of(FIRST)} failed: no (409)"
    assert deleted(cloud, request_) == {
        id_of(FIRST): (Status.FAILED, 2.0, why),
        id_of(SECOND): (Status.DONE, 2.0, None),
    }
    cloud.asked.clear()
    stands(cloud, FIRST, SECOND)
    cloud.failing = {f"delete {id_of(FIRST)}": 1}
    cloud.after = [lambda: None]
    assert deleted(cloud, request_) == {id_of(each): (Status.DONE, 2.0, None) for each in (FIRST, SECOND)}
    assert cloud.calls("delete") == [id_of(FIRST), id_of(SECOND), id_of(FIRST)]


def test_vms_that_do_not_go_fail_after_twenty_minutes(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, state="DELETING")
    stands(cloud, SECOND)
    cloud.after = [lambda: None] * 9
    why = "it is still DELETING after 20 minutes"
    assert deleted(cloud, request_, every=400.0) == {
        id_of(each): (Status.FAILED, 1200.0, why) for each in (FIRST, SECOND)
    }


def test_while_nothing_can_be_learned_a_vm_counts_as_there(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST)
    cloud.after = [
        lambda: cloud.refusing.update({"list projects/my-lab/locations/-": 503}),
        cloud.refusing.clear,
        cloud.gone,
    ]
    assert deleted(cloud, request_) == {id_of(FIRST): (Status.DONE, 3.0, None)}


def test_a_vm_that_comes_meanwhile_is_nobodys_to_delete(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST)
    cloud.after = [lambda: stands(cloud, SECOND)]
    assert deleted(cloud, request_) == {id_of(FIRST): (Status.DONE, 2.0, None)}
    assert cloud.nodes[id_of(SECOND)]["state"] == "READY"


STATE = Recorded(vms=frozenset({id_of(FIRST)}), urns=frozenset({vm_urn("lone", FIRST), "urn:net"}))


def stray(name: str, zone: str = HOME) -> Step:
    known = {"name": name, "zone": zone, "acceleratorType": "v5litepod-4", "labels": own(name)["labels"]}
    return step(Op.DELETE, name, known)


def test_a_destroy_plans_every_stray_with_what_is_known_of_it_and_deletes_none(
    cloud: Cloud, request_: EngineRequest
) -> None:
    stands(cloud, SECOND, FIRST)
    stands(cloud, FIRST, zone=AWAY)
    cloud.nodes[id_of("z")] = {"labels": OWN}
    (*known, bare) = plan_strays(request_, STATE).steps
    assert known == [stray(FIRST, AWAY), stray(SECOND)]
    assert bare.old_inputs == {"name": "z", "zone": HOME, "acceleratorType": "", "labels": OWN}
    assert cloud.calls("delete") == []


def test_targets_alone_are_strays_and_without_a_state_too(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, SECOND)
    aimed = replace(request_, targets=(vm_urn("lone", SECOND),))
    assert plan_strays(aimed, Recorded()).steps == (stray(SECOND),)


def test_without_a_state_and_targets_nothing_is_deleted_and_all_is_named(cloud: Cloud, request_: EngineRequest) -> None:
    assert plan_strays(request_, Recorded()) == strays.Strays(), "nothing stands, so nothing is said"
    stands(cloud, SECOND, FIRST)
    text = (
        f"the state has nothing of lone, and VMs with its labels stand: {FIRST}, {SECOND}. None was deleted: if this "
        "is the right backend, run `./tidepool adopt lone` first, then destroy"
    )
    for found in (plan_strays(request_, Recorded()), delete_strays(request_, Recorded(), None)):
        assert found == strays.Strays(said=(Diagnostic(severity="error", message=text),))
    assert cloud.calls("delete") == []


def test_what_cannot_be_looked_for_is_a_warning_of_a_plan_and_an_error_of_a_destroy(
    cloud: Cloud, request_: EngineRequest
) -> None:
    cloud.lacking = True
    why = "and may stand: finding Google credentials failed: none"
    planned, run = plan_strays(request_, STATE), delete_strays(request_, STATE, None)
    told = "VMs that the state lacks could not be looked for"
    assert planned.said == (Diagnostic(severity="warning", message=f"{told}, {why}"),)
    assert run.said == (Diagnostic(severity="error", message=f"VMs that the state lacks were not looked for, {why}"),)


def test_a_stack_file_with_mistakes_is_said_and_lets_no_stray_be_looked_for(
    cloud: Cloud, request_: EngineRequest
) -> None:
    (request_.root / "stacks" / "Pulumi.lone.yaml").write_text(BROKEN)
    text = "VMs that the state lacks are not looked for, since the stack file has mistakes: mend it and run again"
    assert plan_strays(request_, STATE).said == (Diagnostic(severity="warning", message=text),)
    assert delete_strays(request_, STATE, None).said == (Diagnostic(severity="error", message=text),)
    assert cloud.asked == []


def test_a_mistake_in_another_stack_stops_no_look_at_what_stands(cloud: Cloud, request_: EngineRequest) -> None:
    (request_.root / "stacks" / "Pulumi.far.yaml").write_text(f"{STACK}  tidepool:owners: x\n")
    stands(cloud, FIRST, SECOND, zone=AWAY)
    assert plan_strays(request_, STATE).said == ()
    assert len(vms_away(request_, plan(step(Op.DELETE, FIRST, at(HOME))), lambda _: None).vms) == 2
    assert Fallbacks(request_).delete([vm()]) == {}


def test_a_destroy_tells_of_each_stray_before_it_goes_and_after(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, SECOND)
    stands(cloud, OTHER, zone=AWAY)
    told: list[Event] = []
    going = [stray(SECOND), stray(OTHER, AWAY)]

    def listen(event: Event) -> None:
        assert isinstance(event, StepEnded) or cloud.calls("delete") == []
        told.append(event)

    run = delete_strays(request_, STATE, listen)
    ended = tuple(replace(each, status=Status.DONE, seconds=0.2) for each in going)
    assert run == strays.Strays(steps=ended)
    assert told == [*(StepStarted(step=each) for each in going), *(StepEnded(step=each) for each in ended)]
    assert cloud.nodes.keys() == {id_of(FIRST)}, "the state has it"


def test_an_engine_is_left_the_targets_that_are_no_strays_alone(cloud: Cloud, request_: EngineRequest) -> None:
    stands(cloud, FIRST, zone=AWAY)
    stands(cloud, SECOND)
    first, second = vm_urn("lone", FIRST), vm_urn("lone", SECOND)
    found = plan_strays(request_, STATE)
    assert for_engine(request_, found, STATE) == (), "no targets are all"
    assert for_engine(replace(request_, targets=(first, second, "urn:x")), found, STATE) == (first, "urn:x")
    assert for_engine(replace(request_, targets=(second,)), found, STATE) is None
    assert targets_of_destroy(replace(request_, targets=(second, first)), STATE) == (first,)
    cloud.asked.clear()
    assert targets_of_destroy(request_, STATE) == ()
    assert cloud.asked == []
