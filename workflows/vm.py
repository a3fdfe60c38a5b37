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
from infra.model.fleet import vm_labels
from infra.model.images.steps import MINUTE
from infra.model.network import mirror_locations
from workflows import steps
from workflows.builders import Expression, Hosted, Job, Permissions, Purpose, Step, always, context, template
from workflows.builders.expression import Value
from workflows.world import StackPool, World

READY_MINUTES: Final = 20
"""From a VM that stands to a command that runs: boot, secrets, and the pull of the image."""
DELETE_MINUTES: Final = 15
"""To delete it, however often it has to be asked."""
SPARE_MINUTES: Final = 5
"""Everything else of the job."""
CLEAN_UP: Final = "clean-up"

_FLAGS = {
    CapacityKind.ON_DEMAND: "",
    CapacityKind.SPOT: "--spot",
    CapacityKind.PREEMPTIBLE: "--preemptible",
    CapacityKind.RESERVED: "--reserved",
}
_POLL_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class VmRun:
    """One command on a VM of its own.

    shape: the pool as which it is made; accelerator: what it has, of the pool's generation. image: with its digest.
    secrets: of Secret Manager by variable; the VM's account reads them. before: steps that come first, such as the one
    that finds the image. timeout_minutes: of the command; create_minutes: of all tries to make the VM.
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
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    before: tuple[Step, ...] = ()
    attempts: int = 3
    create_minutes: int = 30

    @property
    def minutes(self) -> int:
        """What the whole job may take."""
        return self.create_minutes + READY_MINUTES + self.timeout_minutes + DELETE_MINUTES + SPARE_MINUTES

    @property
    def lifetime_seconds(self) -> int:
        """After how long anybody may delete the VM: both jobs are over by then, whatever became of them."""
        return (self.minutes + DELETE_MINUTES + SPARE_MINUTES) * MINUTE


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
        env=_told(run),
        steps=[*signed_in, *run.before, _create(run, world), _follow(run, world), _delete(world, condition=always())],
        why=f"{run.why}\n{_made_as(run)}",
    )
    sure = Job(
        id=CLEAN_UP,
        name="Delete what is left",
        needs=[run.job],
        condition=always(),
        runs_on=Hosted(),
        timeout_minutes=DELETE_MINUTES + SPARE_MINUTES,
        permissions=permissions,
        purpose=Purpose.CLEANUP,
        env={key: value for key, value in _told(run).items() if key in ("RUN", "ZONES")},
        steps=[*signed_in, _delete(world)],
        why="On a machine of its own, since the first one may be gone. The run's label says which VMs are its.",
    )
    return working, sure


def account(stack: str, project: str) -> str:
    """The account that makes VMs for runs, of the stack that lets workflows in."""
    return names.account_email(names.role_account_id(stack, "run-maker"), project)


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
        "RUN": template(context("github.run_id"), "-", context("github.run_attempt")),
        "NAME": template(f"{pool.name}-run-", context("github.run_id"), "-", context("github.run_attempt")),
        "ZONES": " ".join(pool.zones),
        "ACCELERATOR": run.accelerator.name,
        "HOSTS": run.accelerator.hosts,
        "RUNTIME": pool.runtime_version,
        "CAPACITY": _FLAGS[pool.capacity.kind],
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
    tries = run.attempts * len(run.shape.pool.zones)
    pauses = (run.attempts - 1) * MINUTE
    return steps.script(
        world,
        "vm_create.sh",
        name=f"Make a {run.accelerator.name}",
        step_id="create",
        timeout_minutes=run.create_minutes,
        env={
            "IMAGE": run.image,
            "BOOT": world.scripts["vm_boot.sh"],
            "COMMAND": "\n".join(run.command),
            "VM_ENV": "".join(f"{key}={value}\n" for key, value in sorted(run.env.items())),
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
        timeout_minutes=READY_MINUTES + run.timeout_minutes + SPARE_MINUTES - 1,
        env={
            "ZONE": context("steps.create.outputs.zone"),
            "READY_SECONDS": READY_MINUTES * MINUTE,
            "POLL_SECONDS": _POLL_SECONDS,
        },
    )


def _delete(world: World, *, condition: Expression | None = None) -> Step:
    return steps.script(
        world,
        "vm_delete.sh",
        name="Delete it",
        condition=condition,
        timeout_minutes=DELETE_MINUTES,
        env={"ROUNDS": DELETE_MINUTES - SPARE_MINUTES, "PAUSE_SECONDS": MINUTE // 2},
    )


def digest_output() -> Expression:
    """The image that `recorded` found."""
    return context("steps.image.outputs.image")


def recorded(world: World, *, record: str, image: str, place: str) -> Step:
    """Finds the digest that the record of images names now. record: the object, gs://BUCKET/NAME."""
    return steps.script(
        world,
        "recorded_digest.sh",
        name=f"Find the digest of {image}",
        step_id="image",
        env={"RECORD": record, "RUN_IMAGE": image, "PLACE": place},
    )
