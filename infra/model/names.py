"""How every name is spelled: VMs, networks, identities, labels, and the rules that Google checks them by.

Names are pure functions of a stack, a pool, a zone and an index, so that what exists can be found again from the
configuration alone. Nothing is cut blindly: an identity that is too long keeps its distinguishing tail and a hash.
"""

from __future__ import annotations

import hashlib
import re

# RFC 1035 as Compute Engine and Cloud TPU check it: lower case, a letter first, no hyphen at the end.
MAX_RESOURCE_NAME = 63
RESOURCE_NAME = r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"
LABEL_KEY = r"[a-z][a-z0-9_-]{0,62}"
LABEL_VALUE = r"[a-z0-9_-]{0,63}"
BUCKET = r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]"
ACCOUNT_ID = r"[a-z][a-z0-9-]{4,28}[a-z0-9]"
_NODE_POOL = re.compile(r"[a-z0-9]+-[a-z]+-\d+t-\d+(x\d+)+-[a-z0-9]+-[a-z]+(-\d+)?")
_MAX_ACCOUNT_ID = 30
_MAX_POOL_ID = 32
_MAX_TRIGGER_NAME = 64
_MAX_RUN_NAME = 49
_MAX_METRIC_NAME = 100
_MOST_ATTEMPTS = 1000
MAX_GKE_NAME = 40
"""Of a GKE cluster and of a node pool."""

PULUMI_PROJECT = "tidepool"
GITHUB = "https://api.github.com"
"""Root of its REST API."""

IN_USE_PREFIX = "in-use-"
"""Tags that keep an image from clean-up; registries name it in `keep_tag_prefixes`."""

GKE_NAME_RULE = f"1 to {MAX_GKE_NAME} lower-case letters, digits and hyphens, a letter first, no hyphen last"
RESOURCE_NAME_RULE = "1 to 63 lower-case letters, digits and hyphens, a letter first, no hyphen last"
LABEL_KEY_RULE = "1 to 63 lower-case letters, digits, hyphens and underscores, a letter first"
LABEL_VALUE_RULE = "at most 63 lower-case letters, digits, hyphens and underscores"
BUCKET_RULE = "3 to 63 lower-case letters, digits and hyphens, no hyphen first or last, not starting with goog"


def is_resource_name(text: str) -> bool:
    return re.fullmatch(RESOURCE_NAME, text) is not None


def is_label_key(text: str) -> bool:
    return re.fullmatch(LABEL_KEY, text) is not None


def is_label_value(text: str) -> bool:
    return re.fullmatch(LABEL_VALUE, text) is not None


def is_bucket_name(text: str) -> bool:
    """Cloud Storage's rule without dots (those need a verified domain) and without Google's reserved words."""
    return re.fullmatch(BUCKET, text) is not None and not text.startswith("goog") and "google" not in text


def is_account_id(text: str) -> bool:
    return re.fullmatch(ACCOUNT_ID, text) is not None


def vm_name(pool: str, zone: str, index: int) -> str:
    """The TPU node of one slot; unique in a project as long as pool names are."""
    return f"{pool}-{zone}-{index}"


def node_pool_name(machine_type: str, topology: str, zone: str, capacity: str, index: int | None) -> str:
    """A node pool of TPU slices, such as `ct4p-hightpu-4t-2x2x4-b-spot-0`; 40 characters at most.

    Shape, machine type and kind of capacity are in it: a change of one is a new pool, never an update that sends
    nothing. A cluster is in one region, so the end of the zone's name tells its zones apart. index: of the slice, where
    a pool is one slice.
    """
    parts = (machine_type, topology, zone.rpartition("-")[2], capacity)
    return "-".join((*parts, str(index)) if index is not None else parts)


def is_node_pool(name: str) -> bool:
    """Whether `node_pool_name` gave it; no VM is called so, for its zone is whole."""
    return _NODE_POOL.fullmatch(name) is not None


def network_name(stack: str) -> str:
    return f"tidepool-{stack}"


def cluster_network_name(stack: str) -> str:
    """The network of a stack's cluster, and its subnetwork, router and NAT."""
    return f"tidepool-{stack}-gke"


def workload_policy_name(cluster: str, pool: str) -> str:
    """The policy by which the slices of one entry are placed. pool: as `node_pool_name` calls them without an index.

    Policies are of a region: two zones of it with slices of one shape have one each.
    """
    return _shortened(f"{cluster}-{pool}", MAX_RESOURCE_NAME)


def store_name(stack: str) -> str:
    """The Redis or the Firestore database of a stack's jobs; 40 characters at most, as Memorystore has it."""
    return _shortened(f"tidepool-{stack}", MAX_GKE_NAME)


def mount_name(secret: str) -> str:
    """What a cluster calls a secret of Secret Manager, whose names may have what those of Kubernetes have not."""
    if is_resource_name(secret):
        return secret
    plain = re.sub(r"[^a-z0-9]+", "-", secret.lower()).strip("-")
    return _hashed(secret, plain, MAX_RESOURCE_NAME).strip("-")


def subnetwork_name(stack: str, region: str) -> str:
    return f"tidepool-{stack}-{region}"


def slice_firewall(stack: str, pool: str) -> str:
    """The rule by which the hosts of a pool's slices reach each other."""
    return _shortened(f"tidepool-{stack}-{pool}-hosts", MAX_RESOURCE_NAME)


def network_path(project: str, stack: str) -> str:
    """The full path, the only form in which a TPU node's network survives a read without a replacement."""
    return f"projects/{project}/global/networks/{network_name(stack)}"


def subnetwork_path(project: str, stack: str, region: str) -> str:
    return f"projects/{project}/regions/{region}/subnetworks/{subnetwork_name(stack, region)}"


def pool_account_id(stack: str, pool: str) -> str:
    """The service account that a pool's VMs run as."""
    return _account_id(stack, f"pool-{pool}")


def role_account_id(stack: str, role: str) -> str:
    """The service account of one of the stack's own roles: broker, controller, builder."""
    return _account_id(stack, role)


def run_maker_account_id(stack: str, repository: str, pool: str) -> str:
    """The service account by which workflows of one repository, `owner/name`, make VMs as one pool.

    Always a hash of all three: an owner's name in front of it would leave no room for the pool's.
    """
    return _hashed(f"{stack}/{repository.lower()}/{pool}", pool, _MAX_ACCOUNT_ID, use="run-")


def result_writer_account_id(stack: str, repository: str) -> str:
    """The service account by which workflows of one repository, `owner/name`, keep results of test runs."""
    name = repository.lower().partition("/")[2]
    return _hashed(f"{stack}/{repository.lower()}/results", name, _MAX_ACCOUNT_ID, use="results-")


def run_vm_name(pool: str, run: str, attempt: int) -> str:
    """The VM that one attempt of a run makes as a pool: no two runs, attempts or pools share a name.

    run: letters and digits alone, so that the last three words say which run it is; a long pool's name gives way to
    its end and a hash. ValueError for another one.
    """
    if not re.fullmatch(r"[a-z0-9]{1,32}", run) or not 0 < attempt < _MOST_ATTEMPTS:
        raise ValueError(f"{run!r}, attempt {attempt}: a run is 1 to 32 of a-z and 0-9, an attempt 1 to 999")
    use = f"-run-{run}-{attempt}"
    most = MAX_RESOURCE_NAME - len(use)
    return f"{pool if len(pool) <= most else _hashed(pool, pool, most)}{use}"


def federation_pool_id(stack: str) -> str:
    """The workload identity pool of a stack: 4 to 32 lower-case letters, digits and hyphens."""
    plain = f"tidepool-{stack}"
    return plain if len(plain) <= _MAX_POOL_ID else _hashed(stack, stack, _MAX_POOL_ID)


def account_email(account_id: str, project: str) -> str:
    return f"{account_id}@{project}.iam.gserviceaccount.com"


def docker_path(project: str, location: str, repository: str) -> str:
    """What the names of images in a repository start with."""
    return f"{location}-docker.pkg.dev/{project}/{repository}"


def in_use_tag(user: str, digest: str) -> str:
    """The tag that keeps a digest for a pool or a role: one a digest, so that setting one takes no other's protection
    away.
    """
    return f"{IN_USE_PREFIX}{user}-{digest.removeprefix('sha256:')[:12]}"


def role_user(stack: str, role: str) -> str:
    """Who keeps an image that a role of a stack runs. No pool has a dot in its name."""
    return f"{stack}.{role}"


def broker_service(stack: str) -> str:
    """The broker's service. Its name is in its address beside the project's number, which leaves it 49 characters."""
    return _shortened(f"tidepool-{stack}-broker", _MAX_RUN_NAME)


def controller_job(stack: str) -> str:
    """The controller's job, and the schedule that runs it."""
    return _shortened(f"tidepool-{stack}-controller", _MAX_RUN_NAME)


def alert_metric(stack: str, alert: str) -> str:
    """The log-based metric that an alert counts by."""
    return _shortened(f"tidepool-{stack}-{alert}", _MAX_METRIC_NAME)


def build_log_bucket(fleet_bucket: str) -> str:
    """The bucket of a stack's build logs, named after its fleet bucket because names of buckets are global."""
    return _shortened(f"{fleet_bucket}-build-logs", MAX_RESOURCE_NAME)


def build_topic(stack: str, image: str) -> str:
    """The Pub/Sub topic whose messages start a build of an image; 3 to 255 characters."""
    return f"tidepool-{stack}-build-{image}"


def build_schedule(stack: str, image: str) -> str:
    """The Cloud Scheduler job that starts builds of an image at their times; up to 500 characters."""
    return build_topic(stack, image)


def build_trigger(stack: str, image: str, started_by: str) -> str:
    """A Cloud Build trigger: `started_by` is `message`, or `push-` and the short name of a repository."""
    return _shortened(f"tidepool-{stack}-{image}-{started_by}", _MAX_TRIGGER_NAME)


def source_connection(stack: str, repository: str) -> str:
    """Cloud Build's connection to GitHub for one repository, `owner/name`; 63 characters at most."""
    return _shortened(f"tidepool-{stack}-{_plain(repository)}", MAX_RESOURCE_NAME)


def source_repository(repository: str) -> str:
    """A repository, `owner/name`, as Cloud Build knows it within its connection."""
    return _shortened(_plain(repository), MAX_RESOURCE_NAME)


def linked_repository(project: str, region: str, stack: str, repository: str) -> str:
    """The full name at Cloud Build of a repository, `owner/name`, that a stack's connection links."""
    connection = f"projects/{project}/locations/{region}/connections/{source_connection(stack, repository)}"
    return f"{connection}/repositories/{source_repository(repository)}"


def _plain(repository: str) -> str:
    """`owner/name` with nothing in it but what every name may have."""
    return re.sub(r"[^a-z0-9]+", "-", repository.lower()).strip("-")


def _shortened(text: str, most: int) -> str:
    """The text, or where it is too long a hash of it and as much of its tail as fits."""
    return text if len(text) <= most else _hashed(text, text, most)


def _account_id(stack: str, subject: str) -> str:
    """6 to 30 characters, distinct for distinct (stack, subject).

    The plain form is taken where it fits and reads only one way; a hyphen in the stack's name would make
    `a-b` + `c` and `a` + `b-c` the same. Otherwise a hash of both and as much of the tail as fits.
    """
    plain = f"tidepool-{stack}-{subject}"
    if "-" not in stack and len(plain) <= _MAX_ACCOUNT_ID:
        return plain
    return _hashed(f"{stack}/{subject}", f"{stack}-{subject}", _MAX_ACCOUNT_ID)


def _hashed(whole: str, tail: str, most: int, *, use: str = "") -> str:
    """A hash of the whole, and as much of the tail's end as fits."""
    head = f"tp-{hashlib.sha256(whole.encode()).hexdigest()[:10]}-{use}"
    return head + tail[-(most - len(head)) :].lstrip("-")
