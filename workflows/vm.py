"""A TPU VM made for one run: the job that makes it, follows what it runs and deletes it, and the one that makes sure.

Owns both jobs; their scripts are `workflows/shell/vm_*.sh`. The VM has no way in, as no VM of the fleet has: it is told
by metadata what to run, and says in its guest attributes how that ended
(https://cloud.google.com/sdk/gcloud/reference/compute/tpus/tpu-vm/get-guest-attributes, read 2026-11-21).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from infra.model import names
from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.facts import mirror_locations
from infra.model.fleet import vm_labels
from infra.model.images.steps import MINUTE
from infra.model.schema import StackConfig
from workflows import steps
from workflows.builders import (
    Expression,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Step,
    always,
    context,
    not_cancelled,
    template,
)
from workflows.builders.expression import Value
from workflows.world import StackPool, World

READY_MINUTES: Final = 20
"""From a VM that stands to a command that runs: boot, secrets, and the pull of the image."""
DELETE_MINUTES: Final = 15
"""To delete it, however often it has to be asked."""
SPARE_MINUTES: Final = 5
"""Everything else of the job."""
CLEAN_UP: Final = "clean-up"
ENDED: Final = context("steps.follow.outputs.ended")
"""How the command ended, success or failure; empty where that is not known, as of a VM that was taken back."""
RECORDED: Final = context("steps.image.outputs.image")
"""The image that `recorded` found."""

_FLAGS = {
    CapacityKind.ON_DEMAND: "",
    CapacityKind.SPOT: "--spot",
    CapacityKind.PREEMPTIBLE: "--preemptible",
    CapacityKind.RESERVED: "--reserved",
}
_POLL_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """A start-up script, and the action that makes a VM with it."""

    text: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VmRun:
    """One command on a VM of its own.

    shape: the pool as which it is made; accelerator: what it has, of the pool's generation. image: with its digest.
    secrets: of Secret Manager by variable; the VM's account reads them. before: steps that come first, such as the one
    that finds the image; while_there: between its end and the VM's, and at_last after both. boot: the start-up script,
    where it is not the one that runs an image of the lab's own. timeout_minutes: of the command; create_minutes: of all
    tries to make the VM; ready_minutes: from there to a command that runs. outputs: of the job.
    """

    job: str
    name: str
    shape: StackPool
    accelerator: AcceleratorType
    image: Value
    command: tuple[str, ...]
    account: str
    why: str
    timeout_minutes: int
    env: Mapping[str, str | Expression] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    boot: Boot | None = None
    needs: tuple[str, ...] = ()
    only: Expression | None = None
    before: tuple[Step, ...] = ()
    while_there: tuple[Step, ...] = ()
    at_last: tuple[Step, ...] = ()
    outputs: Mapping[str, Expression] = field(default_factory=dict)
    attempts: int = 3
    create_minutes: int = 30
    ready_minutes: int = READY_MINUTES
    delete_minutes: int = DELETE_MINUTES
    spare_minutes: int = SPARE_MINUTES

    @property
    def minutes(self) -> int:
        """What the whole job may take."""
        following = self.ready_minutes + self.timeout_minutes
        return self.create_minutes + following + self.delete_minutes + self.spare_minutes

    @property
    def lifetime_seconds(self) -> int:
        """After how long anybody may delete the VM: both jobs are over by then, whatever became of them."""
        return (self.minutes + self.delete_minutes + self.spare_minutes) * MINUTE


def jobs(run: VmRun, world: World) -> tuple[Job, Job]:
    """The job that runs, and the one that deletes what the first could not, as where its machine was lost."""
    project = run.shape.stack.project
    permissions = Permissions.of(steps.IDENTITY)
    signed_in = (steps.google(world, run.account), steps.gcloud(world, project))
    working = Job(
        id=run.job,
        name=run.name,
        runs_on=Hosted(),
        timeout_minutes=run.minutes,
        permissions=permissions,
        purpose=Purpose.CLEANUP,
        needs=run.needs,
        condition=_after(run.needs, run.only),
        env=_told(run),
        outputs=run.outputs,
        steps=[
            *signed_in,
            *run.before,
            _create(run, world),
            _follow(run, world),
            *run.while_there,
            _delete(run, world, condition=always()),
            *run.at_last,
        ],
        why=f"{run.why}\n{_made_as(run)}",
    )
    sure = Job(
        id=CLEAN_UP,
        name="Delete what is left",
        needs=[run.job],
        condition=always() & run.only if run.only else always(),
        runs_on=Hosted(),
        timeout_minutes=run.delete_minutes + run.spare_minutes,
        permissions=permissions,
        purpose=Purpose.CLEANUP,
        env={key: value for key, value in _told(run).items() if key in ("RUN_ID", "ZONES")},
        steps=[*signed_in, _delete(run, world)],
        why="On another machine, since the first one may be gone. The run's label says which VMs are its.",
    )
    return working, sure


def _after(needs: tuple[str, ...], only: Expression | None) -> Expression | None:
    """When all that it needs has gone well, in full: a condition with `always` has no success() of its own."""
    found = only
    for job in needs:
        well = context(f"needs.{job}.result").equals("success")
        found = well if found is None else found & well
    return always() & not_cancelled() & found if found and needs else found


def boot(world: World, file: str, *carried: str) -> str:
    """A start-up script: how all of them begin, what is carried along, and then the file of workflows/shell."""
    isolation = printing("isolation", world.isolation)
    return "\n".join(("#!/bin/bash", isolation, world.scripts["vm_first.sh"], *carried, world.scripts[file]))


def printing(name: str, content: str) -> str:
    """A shell function that prints a file: nothing of this project is on the machine."""
    return f"{name}() {{\n  cat <<'END_OF_FILE'\n{content}END_OF_FILE\n}}\n"


def _lines(variables: Mapping[str, str | Expression]) -> Value:
    """NAME=VALUE, a line each."""
    return template(*(part for key, value in sorted(variables.items()) for part in (f"{key}=", value, "\n")))


def account(stack: StackConfig, repository: str, shape: StackPool) -> str:
    """The account by which a repository's workflows make VMs as that pool. stack: the one that lets them in."""
    return names.account_email(names.run_maker_account_id(stack.stack, repository, shape.pool.name), stack.project)


def mirrored(world: World, shape: StackPool, place: str) -> str:
    """Where a VM of that pool pulls an image of a public registry: the mirror of its part of the world, by its account.

    The place itself where there is no mirror of that registry.
    """
    host, _, rest = place.partition("/")
    zone = next(iter(shape.pool.zones))
    for _, stack in sorted(world.stacks.items()):
        for mirror in stack.mirrors:
            near = [each for each in mirror.locations if zone.startswith(each) and each in mirror_locations()]
            if mirror.upstream == f"https://{host}" and near:
                return f"{names.docker_path(stack.project, near[0], mirror.name)}/{rest}"
    return place


def _told(run: VmRun) -> dict[str, Value]:
    """What every step of the job knows."""
    stack, pool = run.shape.stack, run.shape.pool
    return {
        "RUN_ID": context("github.run_id"),
        "RUN": template(context("github.run_id"), "-", context("github.run_attempt")),
        "NAME": template(f"{pool.name}-run-", context("github.run_id"), "-", context("github.run_attempt")),
        "ZONES": " ".join(pool.zones),
        "ACCELERATOR": run.accelerator.name,
        "HOSTS": run.accelerator.hosts,
        "RUNTIME": pool.runtime_version,
        "CAPACITY": _FLAGS[pool.capacity.kind],
        "ADDRESS": "" if pool.external_ip else "--internal-ips",
        "NETWORK": names.network_path(stack.project, stack.stack),
        "SUBNETWORKS": f"projects/{stack.project}",
        "SUBNETWORK": names.network_name(stack.stack),
        "ACCOUNT": run.shape.account,
        "LABELS": ",".join(f"{key}={value}" for key, value in sorted(_labels(run).items())),
        "LIMIT": run.timeout_minutes * MINUTE,
    }


def _labels(run: VmRun) -> dict[str, str]:
    """The lab's own and the owner's; not those by which the fleet would take the VM for one of a pool."""
    own = vm_labels(run.shape.stack, run.shape.pool)
    return {key: value for key, value in own.items() if key not in ("tidepool-managed", "tidepool-pool")}


def _made_as(run: VmRun) -> str:
    pool = run.shape.pool
    zones = ", ".join(pool.zones)
    said = f"{run.accelerator.name}, {pool.capacity}, {zones}"
    return f"Made as pool {pool.name} of stack {run.shape.stack.stack} says: {said}."


def _create(run: VmRun, world: World) -> Step:
    begins = run.boot or Boot(text=boot(world, "vm_boot.sh"), action="vm_create")
    tries = run.attempts * len(run.shape.pool.zones)
    pauses = (run.attempts - 1) * MINUTE
    return steps.script(
        world,
        "vm_create.sh",
        name=f"Create a {run.accelerator.name}",
        step_id="create",
        timeout_minutes=run.create_minutes,
        action=begins.action,
        outputs=("zone", "made"),
        carried=("BOOT",),
        env={
            "IMAGE": run.image,
            "BOOT": begins.text,
            "COMMAND": "\n".join(run.command),
            "VM_ENV": _lines(run.env),
            "VM_SECRETS": "".join(f"{key} {value}\n" for key, value in sorted(run.secrets.items())),
            "ATTEMPTS": run.attempts,
            "TRY_SECONDS": (run.create_minutes * MINUTE - pauses) // tries - MINUTE,
            "PAUSE_SECONDS": MINUTE,
            "LIFETIME": run.lifetime_seconds,
        },
    )


def _follow(run: VmRun, world: World) -> Step:
    return steps.script(
        world,
        "vm_follow.sh",
        name="Follow what it runs",
        step_id="follow",
        outputs=("ended",),
        timeout_minutes=run.ready_minutes + run.timeout_minutes + run.spare_minutes - 1,
        env={
            "ZONE": context("steps.create.outputs.zone"),
            "READY_SECONDS": run.ready_minutes * MINUTE,
            "POLL_SECONDS": _POLL_SECONDS,
        },
    )


def _delete(run: VmRun, world: World, *, condition: Expression | None = None) -> Step:
    return steps.script(
        world,
        "vm_delete.sh",
        name="Delete it",
        condition=condition,
        finishes=True,
        timeout_minutes=run.delete_minutes,
        env={"ROUNDS": run.delete_minutes - run.spare_minutes, "PAUSE_SECONDS": MINUTE // 2},
    )


def recorded(world: World, *, record: str, image: str, place: str) -> Step:
    """Finds the digest that the record of images names now. record: the object, gs://BUCKET/NAME."""
    return steps.script(
        world,
        "recorded_digest.sh",
        name=f"Find the digest of {image}",
        step_id="image",
        outputs=("image",),
        env={"RECORD": record, "RUN_IMAGE": image, "PLACE": place},
    )
