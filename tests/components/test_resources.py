"""What components register beyond the stacks of the synthetic lab: each resource with its inputs, options and needs.

A program is a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from infra.components.bucket import FleetBucket, FleetBucketArgs, PrefixAccess
from infra.components.build_logs import BuildLogs, BuildLogsArgs
from infra.components.network import Network, NetworkArgs, Subnet
from infra.components.registries import Registries, RegistriesArgs, Registry
from infra.components.registry_grants import Access, RegistryGrant, RegistryGrants, RegistryGrantsArgs
from infra.components.runner_pool import RunnerPool, RunnerPoolArgs, RunnerVm
from infra.components.secrets import SecretContainer, Secrets, SecretsArgs
from infra.model.schema import Cleanup, MirrorCleanup
from infra.program.stack import declare
from tests.components.test_build_components import IMAGE, builds, sources
from tests.components.test_components import LAB, VM, made
from tests.components.test_job_store import FIRESTORE, REDIS
from tests.components.test_job_store import made as with_store
from tests.components.test_node_pools import TPU7X, built
from tests.model import queued, workloads
from tests.model.clustered import batch, cluster, entry
from tests.program.fake_engine import Built, build
from tests.program.test_shape import shape

GOLDEN: Final = Path(__file__).parent / "golden" / "resources.txt"
EXCLUSION: Final = "{name: neurips, from: 2026-12-01, to: 2026-12-10, scope: no-upgrades}"
MAINTENANCE: Final = f"{{days: [SU, SA], start: '22:00', hours: 8, exclusions: [{EXCLUSION}]}}"
HELD: Final = "- {name: lab, project: my-lab, zone: us-central2-b, generation: v4, chips: 32}\n"
IMAGES: Final = "  {regions: [us-central2, us-central1], repositories: [{name: images}]}\n"
SLICES: Final[tuple[dict[str, Any], ...]] = (
    {"number": 1},
    {"number": 1, "capacity": "on-demand"},
    {"number": None, "buffer": 1, "maximum": 2},
    {"number": None, "buffer": 0, "maximum": 1, "capacity": "{flex-start: 24h}"},
    {"number": None, "buffer": 2, "maximum": 6, "accelerator": "v4-8"},
    {"number": 1, "accelerator": "v5p-8", "zone": "us-central1-a"},
    {"number": 1, "accelerator": "v5p-16", "zone": "us-central1-a"},
    {"number": 1, "accelerator": "v5litepod-16", "zone": "us-central1-a"},
    {"number": 1, "accelerator": "v6e-8", "zone": "us-central1-b"},
    {"number": 1, "accelerator": "v6e-16", "zone": "us-central1-b"},
    {"number": 1, "accelerator": "tpu7x-8", "zone": "us-central1-c"},
    {"number": 2, "accelerator": "tpu7x-16", "zone": "us-central1-c"},
)


def clusters() -> Iterator[tuple[str, Built]]:
    for fields in SLICES:
        zone = fields.get("zone", "us-central2-b")
        of = cluster(region=zone.rpartition("-")[0], zones=f"[{zone}]")
        label = " ".join(str(value) for value in fields.values() if value is not None)
        yield label, built(entry(**fields), of=TPU7X if "tpu7x" in label else of)
    yield "reserved", built(entry(capacity="{reserved: lab}"), reservations=HELD)
    yield "batch", built(of=cluster(cpu_pools=batch(spot="true"), maintenance=MAINTENANCE, deletion_protection="false"))
    yield "images", built(registries=IMAGES)
    for label, config in (("queues", queued.stack()), ("work", workloads.stack())):
        yield label, build(lambda config=config: declare(config), stack="training")
    yield "redis", with_store(REDIS)
    yield "firestore", with_store(FIRESTORE)


def alone() -> Iterator[tuple[str, Built]]:
    """Components by themselves."""
    for label, spec, hosts in (("reserved", VM, 4), ("spot", replace(VM, reserved=False, spot=True, data_disks=()), 1)):
        pool = RunnerPoolArgs(vms=(RunnerVm(spec=spec, hosts=hosts, after=()),))
        yield f"{label} vm", made(lambda pool=pool: RunnerPool("pool", pool))
    rules = Cleanup(delete_older_than="30d", keep_newest=16, keep_tag_prefixes=("v",))
    registries = (
        Registry(location="us", repository="m", description="", cleanup=rules),
        Registry(location="us", repository="hub", description="", cleanup=None, upstream="docker-hub"),
        Registry(
            location="us", repository="ghcr", description="", upstream="https://ghcr.io",
            cleanup=MirrorCleanup(delete_older_than="7d"),
        ),
    )  # fmt: skip
    user = "user:a@b.c"
    grant = RegistryGrant(
        who="pool-a", member=user, access=Access.READS, location="us", repository="m", repository_id="m"
    )
    subnets = tuple(
        Subnet(region=region, name=f"n-{region}", cidr=f"10.{index}.0.0/16", nat=nat)
        for index, (region, nat) in enumerate((("us-east1", True), ("us-west4", False)))
    )
    reader = PrefixAccess(name="pool-a", member=user, prefix="runner/")
    components: dict[str, Callable[[], object]] = {
        "registries": lambda: Registries("r", RegistriesArgs(project=LAB, labels={}, registries=registries)),
        "grants": lambda: RegistryGrants("g", RegistryGrantsArgs(project=LAB, grants=(grant,))),
        "network": lambda: Network("n", NetworkArgs(project=LAB, network="n", subnets=subnets)),
        "bucket": lambda: FleetBucket(
            "b", FleetBucketArgs(project=LAB, bucket="a-lab", location="us", labels={}, access=[reader])
        ),
        "secrets": lambda: Secrets(
            "s",
            SecretsArgs(
                project=LAB, labels={}, secrets=[SecretContainer(secret_id="app-key", readers={"broker": user})]
            ),
        ),
        "logs": lambda: BuildLogs(
            "l",
            BuildLogsArgs(project=LAB, bucket="lab-logs", location="us", labels={}, keep_days=90, writer=user),
        ),
    }
    yield from ((label, made(component)) for label, component in components.items())
    yield "builds", builds(workflow="serviceAccount:w@b.c")
    yield "builds without a clock", builds(replace(IMAGE, clock=None))
    yield "sources", sources()


def test_components_register_what_they_did(update_goldens: bool) -> None:
    """Each line once, of the first program that has it."""
    found: dict[tuple[str, str], str] = {}
    for label, program in (("cluster", built()), *clusters(), *alone()):
        for line in sorted(shape("", program).items()):
            found.setdefault(line, label)
    text = "".join(f"{label}{at} {told}\n" for (at, told), label in found.items())
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
