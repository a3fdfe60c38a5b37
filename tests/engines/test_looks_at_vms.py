"""How VMs are looked for that the state lacks: what is asked, waited for and told, on a fake API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from infra.engines import standing
from infra.engines.protocol import EngineRequest
from infra.engines.standing import PATIENCE, StandingVm, foreign_vms, insist_planned, nodes_in, pause, unadopted, vm_urn
from infra.fleet.google import GoogleError
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic, Op
from tests.engines.vm_world import (
    AWAY,
    BEGIN,
    FIRST,
    HOME,
    OTHER,
    OWN,
    SECOND,
    THEIRS,
    Cloud,
    id_of,
    own,
    plan,
    stands,
    step,
)

# Lists


def test_a_list_is_read_to_its_last_page(google: Cloud) -> None:
    stands(google, "c", "a", "b", "d", "e")
    found = nodes_in(google.tpu, f"projects/my-lab/locations/{HOME}")
    assert [node["name"] for node in found] == [id_of(each) for each in "cabde"]


def test_a_place_that_a_list_leaves_out_makes_it_none(google: Cloud) -> None:
    google.unreachable = ("us-west1-b", "us-west1-c")
    with pytest.raises(GoogleError) as caught:
        nodes_in(google.tpu, "projects/my-lab/locations/-")
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
    google: Cloud, look: Look
) -> None:
    stands(google, SECOND, FIRST, "a-stranger")
    stands(google, OTHER, zone=AWAY)
    found = look.found([id_of(SECOND)])
    assert [(each.id, each.slot.name) for each in found] == [(id_of(OTHER, AWAY), OTHER), (id_of(FIRST), FIRST)]
    assert found[1].labels == OWN
    assert found[1].node["acceleratorType"] == "v5litepod-4"
    assert look.said == []


def test_zones_whose_slots_the_state_has_are_not_asked(google: Cloud, look: Look) -> None:
    assert look.names(id_of(OTHER, AWAY)) == []
    assert google.calls("list") == [f"projects/my-lab/locations/{HOME}"]
    google.lacking = True
    assert look.names(id_of(OTHER, AWAY), id_of(FIRST), id_of(SECOND)) == []
    assert look.said == [], "nobody is asked, so nobody fails to answer"


UNKNOWN = "unknown whether VMs exist that the state lacks"


@pytest.mark.parametrize(("insists", "severity"), [(False, "warning"), (True, "error")])
def test_zones_that_do_not_answer_are_told_together_and_the_others_are_looked_at(
    google: Cloud, look: Look, insists: bool, severity: str
) -> None:
    stands(google, FIRST)
    google.refusing[f"list projects/my-lab/locations/{AWAY}"] = 403
    assert look.names(insists=insists) == [FIRST]
    why = f"listing TPU VMs of projects/my-lab/locations/{AWAY} failed: no (403)"
    assert look.said == [f"{severity}: {AWAY}: {UNKNOWN} ({why})"]
    google.refusing[f"list projects/my-lab/locations/{HOME}"] = 404
    assert look.names(insists=insists) == []
    assert look.said[1:] == [f"{severity}: {AWAY}, {HOME}: {UNKNOWN} ({why})"]


def test_without_credentials_every_zone_is_unknown(google: Cloud, look: Look) -> None:
    google.lacking = True
    assert look.names() == []
    assert look.said == [f"warning: {AWAY}, {HOME}: {UNKNOWN} (finding Google credentials failed: none)"]


def test_an_apply_waits_until_nodes_stand_or_are_gone_and_says_so_once(google: Cloud, look: Look) -> None:
    stands(google, FIRST, state="CREATING")
    stands(google, SECOND, state="DELETING")
    google.after = [lambda: None, google.gone, lambda: google.nodes[id_of(FIRST)].update(state="READY")]
    assert look.names(waits=True) == [FIRST]
    assert google.sleeps == [0.2] * 3
    assert look.said == [f"info: waiting for {FIRST}, {SECOND}: being created or deleted, and not in the state"]


def test_a_preview_takes_nodes_as_they_are_and_those_that_go_as_gone(google: Cloud, look: Look) -> None:
    stands(google, FIRST, state="CREATING")
    stands(google, SECOND, state="DELETING")
    assert look.names() == [FIRST]
    stands(google, FIRST)
    google.gone()
    assert look.names(waits=True) == [FIRST], "an apply does not wait for what stands"
    assert (google.sleeps, look.said) == ([], [])


def test_an_apply_waits_twenty_minutes_and_no_look_longer(
    google: Cloud, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "pause", lambda _: PATIENCE / 4)
    stands(google, FIRST, state="CREATING")
    assert look.names(waits=True) == [FIRST]
    assert google.now == BEGIN + 1200


def test_google_is_asked_every_ten_seconds_and_the_local_cloud_at_once(request_: EngineRequest) -> None:
    assert (pause(request_), pause(replace(request_, cloud_url=None))) == (0.2, 10.0)


def test_vms_of_others_are_refused_with_whose_they_are_and_what_to_do(google: Cloud, look: Look) -> None:
    google.nodes = {
        id_of(FIRST): own() | {"labels": {"tidepool-owner": "others", "tidepool-pool": "x"}},
        id_of(SECOND): own() | {"labels": {**OWN, "tidepool-stack": "far"}},
        id_of(OTHER, AWAY): own(OTHER),
    }
    with pytest.raises(EngineError) as caught:
        look.names()
    needs = "tidepool-managed=true, tidepool-stack=lone"
    advice = "Fix: rename pool a, have the VM's owner delete it, or run `./tidepool adopt lone "
    assert str(caught.value) == (
        "VMs that are not this stack's have the names of declared ones; nothing was changed:\n"
        f"{FIRST} in {HOME} exists with the labels tidepool-managed=(none), tidepool-stack=(none);"
        f" a VM of this stack has {needs}. {advice}{FIRST}`, which takes it over\n"
        f"{SECOND} in {HOME} exists with the labels tidepool-managed=true, tidepool-stack=far;"
        f" a VM of this stack has {needs}. {advice}{SECOND}`, which takes it over"
    )


def test_a_vm_of_others_that_a_person_claims_is_found_as_any(google: Cloud, request_: EngineRequest) -> None:
    google.nodes[id_of(FIRST)] = {"state": "READY"}
    assert Look(replace(request_, claims=(vm_urn("lone", FIRST),))).names() == [FIRST]
    with pytest.raises(EngineError, match=r"tidepool-managed=\(none\)"):
        Look(replace(request_, claims=(vm_urn("lone", SECOND),))).names()


# Between a plan and its apply


def test_vms_that_the_plan_was_going_to_make_are_refused_by_name(google: Cloud, look: Look) -> None:
    stands(google, FIRST, SECOND)
    stands(google, OTHER, zone=AWAY)
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


def test_of_creates_in_flight_those_are_anothers_whose_labels_say_so(google: Cloud, request_: EngineRequest) -> None:
    google.nodes = {
        id_of("mine"): {"labels": {**OWN, "colour": "blue"}},
        id_of("theirs"): {"labels": THEIRS},
        id_of("half"): {"labels": {"tidepool-stack": "lone"}},
        id_of("bare"): {"state": "READY"},
        id_of("secret"): {"labels": THEIRS},
        id_of("unlabelled"): {"state": "READY"},
        id_of("named-alone"): {"labels": THEIRS},
    }
    google.refusing[f"get {id_of('secret')}"] = 403
    creates = [inputs(each) for each in ("absent", "secret", "mine", "theirs", "half", "bare")]
    creates += [inputs("unlabelled", labels=None), {"project": "my-lab", "zone": HOME}]
    creates += [{"project": "my-lab", "zone": HOME, "name": "named-alone"}]
    foreign = {id_of(each) for each in ("theirs", "half", "bare", "unlabelled", "named-alone")}
    assert foreign_vms(request_, creates) == foreign


def test_where_no_create_is_known_by_its_name_nobody_is_asked(google: Cloud, request_: EngineRequest) -> None:
    google.lacking = True
    assert foreign_vms(request_, [{"name": FIRST, "labels": THEIRS}]) == frozenset()
