"""What a row of the table does, one act after another, and what of it both engines must agree on."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from infra.engines import EngineName
from infra.engines.phased import apply
from infra.engines.standing import vm_id
from infra.fleet.bundle import STUB
from infra.fleet.google import Api, clients, execute
from infra.model import fleet
from infra.model.bounds import limits
from infra.model.node import node_spec
from infra.model.plan import Op, Plan, Status
from infra.model.stack import load_stack, siblings
from tests.engines.live import kills
from tests.engines.live.live_stacks import EDITS, FULL
from tests.engines.live.live_worlds import World

Seen = Any
"""Plain data, equal on both engines; None where nothing is compared."""
Act = Callable[[World], Seen]

_CHANGELESS = frozenset((Op.SAME, Op.READ))
_LOOPBACK = re.compile(r"http://127\.0\.0\.1:\d+")


def told(plan: Plan) -> Seen:
    """What a plan or a run says that it changes, and how it ended."""
    return {
        "failed": plan.failed,
        "steps": {
            step.urn.split("::", 2)[2]: [step.op.value, step.status.value, sorted(step.diff)]
            for step in plan.steps
            if step.op not in _CHANGELESS or step.status is Status.FAILED
        },
    }


def failures(plan: Plan) -> Seen:
    """Of a run that fails: what fails. How far the rest came before that is chance."""
    return {"failed": plan.failed, "at": sorted(step.name for step in plan.steps if step.status is Status.FAILED)}


def preview(world: World) -> Seen:
    return _succeeded(world.make().preview())


def up(world: World) -> Seen:
    return _succeeded(world.make().up())


def refresh(world: World) -> Seen:
    return _succeeded(world.make().refresh())


def up_after_refresh(world: World) -> Seen:
    return _succeeded(world.make(refresh=True).up())


def fails(world: World) -> Seen:
    seen = failures(world.make().up())
    assert seen["failed"], "this up was to fail"
    return seen


def refused(world: World) -> Seen:
    """A preview that names what is protected."""
    seen = failures(world.make().preview())
    assert seen["failed"], "this preview was to be refused"
    return seen


def heals(world: World) -> Seen:
    """An `up` after something died: what it still has to do is chance, that it succeeds is not."""
    plan = world.make().up()
    assert not plan.failed, _complaints(plan)
    return None


def destroy_is_refused(world: World) -> Seen:
    before = sorted(world.nodes())
    seen = failures(world.make().destroy())
    assert seen["failed"]
    assert sorted(world.nodes()) == before, "while anything is protected, nothing goes"
    return seen


def destroy_the_rest(world: World) -> Seen:
    """All but what is protected; afterwards no VM is left, whoever made it."""
    seen = told(world.make(exclude_protected=True, continue_on_error=True).destroy())
    assert not [name for name, node in world.nodes().items() if node["labels"]["tidepool-stack"] == world.stack]
    return seen


def phased(world: World) -> Seen:
    """As `./tidepool up` does it."""
    config = load_stack(world.root, world.stack)
    plan = world.make().preview()
    bounds = limits(config, siblings(world.root, world.stack))
    run = apply(plan, bounds, lambda **options: world.make(**options), lambda _: None)
    assert not run.failed, _complaints(run)
    return told(run)


def new_first(world: World) -> Seen:
    """The same, with what goes left standing until what is new is made; what stands, and is in the state, between."""
    config = load_stack(world.root, world.stack)
    plan = world.make().preview()
    bounds = limits(config, siblings(world.root, world.stack))
    between: list[Seen] = []

    @contextmanager
    def hold(**held: Any) -> Generator[None]:
        if held["begun"]:
            between.extend((vms(world), state(world), sorted(held["leaving"])))
        yield

    run = apply(plan, bounds, lambda **options: world.make(**options), lambda _: None, None, hold, at_once=False)
    assert not run.failed, _complaints(run)
    assert {*between[2], *own(world)} == between[0].keys(), "both stood"
    return [told(run), between]


def edit(name: str) -> Act:
    """One of the stack's own edits of this name."""

    def act(world: World) -> None:
        world.edit(*EDITS[world.stack][name])

    return act


def edit_back(name: str) -> Act:
    """Take that edit of the stack file back."""
    return lambda world: world.edit(*((after, before) for before, after in EDITS[world.stack][name]))


def fault(kind: Any, **rule: Any) -> Act:
    def act(world: World) -> None:
        world.control.fail(kind, **rule)

    return act


def mended(world: World) -> None:
    world.control.mend()


def full(world: World) -> None:
    """Let the cloud keep to a limit that the stack's VMs have already reached."""
    world.control.limit(**FULL[world.stack])


def made_by_the_controller(world: World) -> None:
    """Every declared VM that is missing, made as the manifest says, with its labels."""
    config = load_stack(world.root, world.stack)
    script = STUB.read_text(encoding="utf-8")
    with clients(config.project, world.url) as google:
        nodes = google.api(Api.TPU).projects().locations().nodes()
        for slot in fleet.slots(config):
            if slot.name not in world.nodes():
                parent = vm_id(config.project, slot.zone, slot.name).rpartition("/nodes/")[0]
                body = node_spec(config, slot, startup_script=script).to_api()
                execute(nodes.create(parent=parent, nodeId=slot.name, body=body), f"making {slot.name}")
    world.control.advance(kills.HOUR)


def preempted(world: World) -> None:
    """The first VM that Google may take away."""
    nodes = own(world)
    kinds = {name: node.get("schedulingConfig", {}) for name, node in nodes.items()}
    world.control.preempt(min(name for name, kind in kinds.items() if kind.get("preemptible") or kind.get("spot")))


def deleted_by_hand(world: World) -> None:
    world.control.remove_node(own(world)[min(own(world))]["name"])


def killed(moment: kills.Moment) -> Act:
    return lambda world: kills.killed(world, moment)


def interrupted(moment: kills.Moment) -> Act:
    return lambda world: {"exit code": kills.interrupted(world, moment)}


def own(world: World) -> Mapping[str, Any]:
    """The stack's VMs by name."""
    nodes = world.nodes()
    return {name: node for name, node in nodes.items() if node["labels"].get("tidepool-stack") == world.stack}


def vms(world: World) -> Seen:
    """What stands in the cloud, as anyone would care."""
    return {name: [node["acceleratorType"], node["state"], node["labels"]] for name, node in world.nodes().items()}


def state(world: World) -> Seen:
    """Each resource of the state, with the inputs that the next plan is made against."""
    found = {}
    for resource in world.checkpoint().get("resources") or ():
        if resource["type"].startswith("pulumi:providers:"):
            continue
        inputs = {key: value for key, value in (resource.get("inputs") or {}).items() if not key.startswith("__")}
        marks = {key: resource.get(key) for key in ("protect", "retainOnDelete", "pendingReplacement", "delete")}
        found[resource["urn"].split("::", 2)[2]] = _plain({"inputs": inputs, **marks})
    return found


def finds_nothing_to_do(world: World) -> None:
    """Neither engine, on the state that one of them has written."""
    for engine in (world.engine, other_than(world.engine)):
        seen = told(world.make(engine).preview())
        assert seen == {"failed": False, "steps": {}}, f"{engine} on the state of {world.engine}: {seen}"


def other_than(engine: EngineName) -> EngineName:
    return EngineName.PULUMI if engine is EngineName.LOCAL else EngineName.LOCAL


def _plain(value: Any) -> Any:
    """Without what differs from cloud to cloud, or from one encryption to the next."""
    if isinstance(value, str):
        return _LOOPBACK.sub("", value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if key != "ciphertext"}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _succeeded(plan: Plan) -> Seen:
    assert not plan.failed, _complaints(plan)
    return told(plan)


def _complaints(plan: Plan) -> str:
    failed = [f"{step.name}: {step.error}" for step in plan.steps if step.error]
    return "\n".join(failed + [said.message for said in plan.diagnostics if said.severity == "error"])
