"""Names of objects in the fleet bucket and the bucket of results, and the prefixes by which they are granted.

What VMs read stands apart from what they may not: grants go by prefix.
"""

from __future__ import annotations

from datetime import date

MANIFEST_PREFIX = "manifests/"
RUNNER_PREFIX = "runner/"
ORDERS_PREFIX = f"{RUNNER_PREFIX}orders/"
IMAGES_PREFIX = "images/"
BROKER_PREFIX = "broker/"
CONTROL_PREFIX = "control/"
UNREADABLE_PREFIX = f"{CONTROL_PREFIX}.unreadable/"
REPORTS_PREFIX = "reports/"
HISTORY_PREFIX = "history/"
RUNS_PREFIX = "runs/"
RUN_DAYS_PREFIX = f"{RUNS_PREFIX}days/"
RUN_WORK_PREFIX = f"{RUNS_PREFIX}work/"

RESULT_RUNS = "runs/"
"""In the bucket of results, below a repository's prefix: one object a run."""
RESULT_INDEX = "index.json"
"""Beside them: one line for each run."""

NO_IMAGE = "none"
"""In a VM's orders, in the place of an image: run none, whatever the pointer says."""


def results_prefix(repository: str) -> str:
    """Below it, in the bucket of results, is all that one repository of GitHub (`owner/name`) keeps."""
    return f"repositories/{repository.lower()}/"


def manifest_object(stack: str) -> str:
    """The object of the fleet bucket that holds a stack's manifest."""
    return f"{MANIFEST_PREFIX}{stack}.json"


def startup_object() -> str:
    """The object that says which start-up bundle VMs boot with and where their broker is. The program declares it."""
    return f"{RUNNER_PREFIX}startup.json"


def pointer_object() -> str:
    """The object that says which images VMs run. Promotion writes it."""
    return f"{RUNNER_PREFIX}current.json"


def binding_object(stack: str, vm: str) -> str:
    """The object in which a stack's broker remembers a VM."""
    return f"{BROKER_PREFIX}{stack}/{vm}.json"


def orders_object(vm: str) -> str:
    """The object that says what a VM is to do. VMs of every pool may read it."""
    return f"{ORDERS_PREFIX}{vm}.json"


def report_object(pool: str, vm: str) -> str:
    """The object in which a VM says what it is doing; its pool's account writes below its own prefix alone."""
    return f"{reports_prefix(pool)}{vm}.json"


def reports_prefix(pool: str) -> str:
    """Where the VMs of a pool report."""
    return f"{REPORTS_PREFIX}{pool}/"


def applied_prefix(stack: str) -> str:
    """What was applied to a stack, an object an operation."""
    return f"{HISTORY_PREFIX}{stack}/"


def applied_object(stack: str, operation: str) -> str:
    """One operation on a stack."""
    return f"{applied_prefix(stack)}{operation}.json"


def run_day_object(day: date) -> str:
    """The object that counts the VMs that runs made on one day (UTC). Who makes them writes it, and no VM."""
    return f"{RUN_DAYS_PREFIX}{day.isoformat()}.json"


def run_ceilings_object(stack: str) -> str:
    """The object that says how many VMs runs of a stack may make. The program declares it."""
    return f"{RUNS_PREFIX}ceilings/{stack}.json"


def run_work_prefix(pool: str) -> str:
    """Below it VMs that are made for runs as a pool are given and leave their work, by the pool's account."""
    return f"{RUN_WORK_PREFIX}{pool}/"


def run_vm_prefix(pool: str, vm: str, key: str) -> str:
    """Below it is what one attempt of a run sends, and what its VMs say and bring back.

    key: nobody can guess it. The pool's account can read and write objects there by name, and cannot list names, so
    that other VMs of the pool do not find them.
    """
    return f"{run_work_prefix(pool)}{vm}/{key}/"


def run_work_of(pool: str, vm: str, key: str, zone: str) -> str:
    """Below it is what the VM for a run in one zone says and brings back.

    A create whose answer was lost may leave a second one in another zone: each has its own.
    """
    return f"{run_vm_prefix(pool, vm, key)}{zone}/"


def lease_object(stack: str) -> str:
    """The object that says who acts on a stack's fleet."""
    return f"{CONTROL_PREFIX}{stack}/lease.json"


def memory_object(stack: str) -> str:
    """The object in which a stack's controller remembers."""
    return f"{CONTROL_PREFIX}{stack}/memory.json"


def unreadable_object(name: str, generation: int) -> str:
    """The copy of an object that its reader did not understand, kept until a person deletes it."""
    return f"{UNREADABLE_PREFIX}{name}/{generation}"


def stood_days_prefix(stack: str) -> str:
    """Below it is how long VMs of a stack's pools stood, an object a day."""
    return f"{CONTROL_PREFIX}{stack}/days/"


def stood_day_object(stack: str, day: date) -> str:
    """The object that says how long VMs of a stack's pools stood by the end of a day (UTC); the controller's."""
    return f"{stood_days_prefix(stack)}{day.isoformat()}.json"


def sweep_object(stack: str) -> str:
    """The object that says what the controller's last sweep saw, did and held."""
    return f"{CONTROL_PREFIX}{stack}/sweep.json"


def instance_object(stack: str, instance: str) -> str:
    """The object in which a stack's broker remembers which VM a machine is. instance: Compute Engine's number."""
    return f"{BROKER_PREFIX}{stack}/instances/{instance}.json"


def used_object(stack: str, shard: str) -> str:
    """The object in which a stack's broker remembers used tokens that name no machine. shard: how they begin."""
    return f"{BROKER_PREFIX}{stack}/used/{shard}.json"


def scopes_object(stack: str) -> str:
    """The object in which a stack's broker remembers where at GitHub it ever registered runners."""
    return f"{BROKER_PREFIX}{stack}/registered/scopes.json"


def removals_object(stack: str) -> str:
    """The object in which a stack's broker counts the runners that it removed for the controller."""
    return f"{BROKER_PREFIX}{stack}/removals.json"


def requests_object(stack: str) -> str:
    """The object that says what people want of a stack's fleet: what is drained, which rollouts rest."""
    return f"{CONTROL_PREFIX}{stack}/wishes.json"


def builds_object(stack: str) -> str:
    """The object that says which steps builds of a stack's images were last asked for."""
    return f"{CONTROL_PREFIX}{stack}/builds.json"


def images_record_object() -> str:
    """The object that says which images were built and which of them pools run."""
    return f"{IMAGES_PREFIX}record.json"


def images_attempts_object() -> str:
    """The object that says which build of each image began last."""
    return f"{IMAGES_PREFIX}attempts.json"


def images_begun_prefix() -> str:
    """What the objects in which builds say that they began, one an image, are below."""
    return f"{IMAGES_PREFIX}begun/"


def image_begun_object(image: str) -> str:
    """The object in which a build of an image says that it began, before it has fetched anything."""
    return f"{images_begun_prefix()}{image}.json"


def image_document_object(image: str, digest: str, document: str) -> str:
    """A document about one build, such as its SBOM, kept beside the record."""
    return f"{IMAGES_PREFIX}{image}/{digest.removeprefix('sha256:')}/{document}"


def bundle_object(sha256: str) -> str:
    """The start-up bundle of that checksum (hexadecimal)."""
    return f"{RUNNER_PREFIX}bundles/{sha256}.tar.gz"
