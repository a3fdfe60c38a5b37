"""A stack's own VMs that no state has: which those are, and how a destroy deletes them, on a fake API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infra.engines import strays
from infra.engines.away import Fallbacks, vms_away
from infra.engines.protocol import EngineRequest
from infra.engines.standing import vm_urn
from infra.engines.strays import OwnVms, Recorded, delete_strays, for_engine, plan_strays, targets_of_destroy
from infra.model.plan import Diagnostic, Event, Op, Status, Step, StepEnded, StepStarted
from infra.model.stack import load_stack
from tests.engines.vm_world import (
    AWAY,
    BROKEN,
    BY_HOUR,
    FIRST,
    HOME,
    OTHER,
    OWN,
    SECOND,
    STACK,
    Cloud,
    at,
    id_of,
    own,
    plan,
    stands,
    step,
    vm,
)


def own_vms(google: Cloud, request: EngineRequest, *known: str, every: float = 1.0) -> OwnVms:
    google: Any = google
    return OwnVms(google, load_stack(request.root, "lone"), frozenset(known), every)


def test_a_stacks_own_vms_are_those_with_its_labels_that_are_not_known(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, SECOND)
    stands(google, FIRST, zone=AWAY)
    google.nodes |= {
        id_of("far"): {"labels": {**OWN, "tidepool-stack": "far"}},
        id_of("bare"): {"state": "READY"},
    }
    found = own_vms(google, request_, id_of(SECOND)).standing()
    assert found == {id_: {"name": id_, **google.nodes[id_]} for id_ in (id_of(FIRST), id_of(FIRST, AWAY))}


def deleted(google: Cloud, request: EngineRequest, **how: float) -> dict[str, tuple[Status, float | None, str | None]]:
    """The steps of a deletion of all that stands, by id."""
    work = own_vms(google, request, **how)
    found = work.standing()
    steps = list(work.delete(found))
    return {id_: (each.status, each.seconds, each.error) for id_, each in zip(found, steps, strict=True)}


def test_each_vm_is_deleted_once_and_waited_for_and_says_how_long_it_took(
    google: Cloud, request_: EngineRequest
) -> None:
    stands(google, FIRST, SECOND)
    stands(google, BY_HOUR, state="DELETING")
    google.after = [lambda: google.nodes.pop(id_of(FIRST)), lambda: None]
    ended = deleted(google, request_, every=0.12345)
    assert ended == {id_of(each): (Status.DONE, 0.37, None) for each in (FIRST, SECOND, BY_HOUR)}
    assert google.calls("delete") == [id_of(FIRST), id_of(SECOND)], "the third was going already"


def test_a_vm_that_google_does_not_find_is_on_its_way(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST)
    google.refusing[f"delete {id_of(FIRST)}"] = 404
    google.after = [lambda: None, google.nodes.clear]
    assert deleted(google, request_) == {id_of(FIRST): (Status.DONE, 2.0, None)}
    assert google.calls("delete") == [id_of(FIRST)]


def test_refused_deletes_fail_at_once_with_their_reasons(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, SECOND)
    google.refusing |= {f"delete {id_of(FIRST)}": 403, f"delete {id_of(SECOND)}": 409}
    assert deleted(google, request_) == {
        id_of(FIRST): (Status.FAILED, 0.0, f"deleting {id_of(FIRST)} failed: no (403)"),
        id_of(SECOND): (Status.FAILED, 0.0, f"deleting {id_of(SECOND)} failed: no (409)"),
    }
    assert google.sleeps == []


def test_a_refused_delete_is_tried_again_as_long_as_another_goes(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, SECOND)
    google.refusing[f"delete {id_of(FIRST)}"] = 409
    google.after = [lambda: None, google.gone]
    why = f"deleting {id_of(FIRST)} failed: no (409)"
    assert deleted(google, request_) == {
        id_of(FIRST): (Status.FAILED, 2.0, why),
        id_of(SECOND): (Status.DONE, 2.0, None),
    }
    google.asked.clear()
    stands(google, FIRST, SECOND)
    google.failing = {f"delete {id_of(FIRST)}": 1}
    google.after = [lambda: None]
    assert deleted(google, request_) == {id_of(each): (Status.DONE, 2.0, None) for each in (FIRST, SECOND)}
    assert google.calls("delete") == [id_of(FIRST), id_of(SECOND), id_of(FIRST)]


def test_vms_that_do_not_go_fail_after_twenty_minutes(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, state="DELETING")
    stands(google, SECOND)
    google.after = [lambda: None] * 9
    why = "it is still DELETING after 20 minutes"
    assert deleted(google, request_, every=400.0) == {
        id_of(each): (Status.FAILED, 1200.0, why) for each in (FIRST, SECOND)
    }


def test_while_nothing_can_be_learned_a_vm_counts_as_there(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST)
    google.after = [
        lambda: google.refusing.update({"list projects/my-lab/locations/-": 503}),
        google.refusing.clear,
        google.gone,
    ]
    assert deleted(google, request_) == {id_of(FIRST): (Status.DONE, 3.0, None)}


def test_a_vm_that_comes_meanwhile_is_nobodys_to_delete(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST)
    google.after = [lambda: stands(google, SECOND)]
    assert deleted(google, request_) == {id_of(FIRST): (Status.DONE, 2.0, None)}
    assert google.nodes[id_of(SECOND)]["state"] == "READY"


STATE = Recorded(vms=frozenset({id_of(FIRST)}), urns=frozenset({vm_urn("lone", FIRST), "urn:net"}))


def stray(name: str, zone: str = HOME) -> Step:
    known = {"name": name, "zone": zone, "acceleratorType": "v5litepod-4", "labels": own(name)["labels"]}
    return step(Op.DELETE, name, known)


def test_a_destroy_plans_every_stray_with_what_is_known_of_it_and_deletes_none(
    google: Cloud, request_: EngineRequest
) -> None:
    stands(google, SECOND, FIRST)
    stands(google, FIRST, zone=AWAY)
    google.nodes[id_of("z")] = {"labels": OWN}
    (*known, bare) = plan_strays(request_, STATE).steps
    assert known == [stray(FIRST, AWAY), stray(SECOND)]
    assert bare.old_inputs == {"name": "z", "zone": HOME, "acceleratorType": "", "labels": OWN}
    assert google.calls("delete") == []


def test_targets_alone_are_strays_and_without_a_state_too(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, SECOND)
    aimed = replace(request_, targets=(vm_urn("lone", SECOND),))
    assert plan_strays(aimed, Recorded()).steps == (stray(SECOND),)


def test_without_a_state_and_targets_nothing_is_deleted_and_all_is_named(
    google: Cloud, request_: EngineRequest
) -> None:
    assert plan_strays(request_, Recorded()) == strays.Strays(), "nothing stands, so nothing is said"
    stands(google, SECOND, FIRST)
    text = (
        f"the state has nothing of lone, and VMs with its labels stand: {FIRST}, {SECOND}. None was deleted: if this "
        "is the right backend, run `./tidepool adopt lone` first, then destroy"
    )
    for found in (plan_strays(request_, Recorded()), delete_strays(request_, Recorded(), None)):
        assert found == strays.Strays(said=(Diagnostic(severity="error", message=text),))
    assert google.calls("delete") == []


def test_what_cannot_be_looked_for_is_a_warning_of_a_plan_and_an_error_of_a_destroy(
    google: Cloud, request_: EngineRequest
) -> None:
    google.lacking = True
    why = "and may stand: finding Google credentials failed: none"
    planned, run = plan_strays(request_, STATE), delete_strays(request_, STATE, None)
    told = "VMs that the state lacks could not be looked for"
    assert planned.said == (Diagnostic(severity="warning", message=f"{told}, {why}"),)
    assert run.said == (Diagnostic(severity="error", message=f"VMs that the state lacks were not looked for, {why}"),)


def test_a_stack_file_with_mistakes_is_said_and_lets_no_stray_be_looked_for(
    google: Cloud, request_: EngineRequest
) -> None:
    (request_.root / "stacks" / "Pulumi.lone.yaml").write_text(BROKEN)
    text = "VMs that the state lacks are not looked for, since the stack file has mistakes: mend it and run again"
    assert plan_strays(request_, STATE).said == (Diagnostic(severity="warning", message=text),)
    assert delete_strays(request_, STATE, None).said == (Diagnostic(severity="error", message=text),)
    assert google.asked == []


def test_a_mistake_in_another_stack_stops_no_look_at_what_stands(google: Cloud, request_: EngineRequest) -> None:
    (request_.root / "stacks" / "Pulumi.far.yaml").write_text(f"{STACK}  tidepool:owners: x\n")
    stands(google, FIRST, SECOND, zone=AWAY)
    assert plan_strays(request_, STATE).said == ()
    assert len(vms_away(request_, plan(step(Op.DELETE, FIRST, at(HOME))), lambda _: None).vms) == 2
    assert Fallbacks(request_).delete([vm()]) == {}


def test_a_destroy_tells_of_each_stray_before_it_goes_and_after(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, SECOND)
    stands(google, OTHER, zone=AWAY)
    told: list[Event] = []
    going = [stray(SECOND), stray(OTHER, AWAY)]

    def listen(event: Event) -> None:
        assert isinstance(event, StepEnded) or google.calls("delete") == []
        told.append(event)

    run = delete_strays(request_, STATE, listen)
    ended = tuple(replace(each, status=Status.DONE, seconds=0.2) for each in going)
    assert run == strays.Strays(steps=ended)
    assert told == [*(StepStarted(step=each) for each in going), *(StepEnded(step=each) for each in ended)]
    assert google.nodes.keys() == {id_of(FIRST)}, "the state has it"


def test_an_engine_is_left_the_targets_that_are_no_strays_alone(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, zone=AWAY)
    stands(google, SECOND)
    first, second = vm_urn("lone", FIRST), vm_urn("lone", SECOND)
    found = plan_strays(request_, STATE)
    assert for_engine(request_, found, STATE) == (), "no targets are all"
    assert for_engine(replace(request_, targets=(first, second, "urn:x")), found, STATE) == (first, "urn:x")
    assert for_engine(replace(request_, targets=(second,)), found, STATE) is None
    assert targets_of_destroy(replace(request_, targets=(second, first)), STATE) == (first,)
    google.asked.clear()
    assert targets_of_destroy(request_, STATE) == ()
    assert google.asked == []
