"""What explanations, previews and applies cost at several sizes of fleet, in figures and ratios.

Owns the measured cases; how figures are told is `figures`. Every case but `rendered_node_pools` is a whole process, as
a person starts it, with a state folder and a local cloud of its own. Nothing here judges: a benchmark prints, and a
test asserts.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra.model import queue_objects, slices, stack
from infra.operations.checkout.figures import Figure
from infra.operations.errors import Failure
from infra.operations.workspace import CHECKOUT

SIZES = (10, 100, 300, 1000, 3000)

STACK = """\
# One pool of {count} VMs: what a benchmark declares.
config:
  gcp:project: tidepool-bench
  tidepool:owner: bench
  tidepool:bucket: {{name: tidepool-bench-records, location: us}}
  tidepool:exceptions:
    - {{rule: growth, subject: chips, reason: The measured edit adds a VM to each pool, expires: 2999-12-31}}
  tidepool:pools:
    - name: bench
      accelerator: v5litepod-4
      zones:
        us-west4-a: {count}
      capacity: preemptible
      serves: [example/repository]
      trust: member
"""

CLUSTER = """\
# One cluster of {slices} slices of two VMs, each a node pool, and the queues that follow from them.
config:
  gcp:project: tidepool-bench
  tidepool:owner: bench
  tidepool:bucket: {{name: tidepool-bench-records, location: us-central2}}
  tidepool:cluster:
    name: train
    region: us-central2
    zones: [us-central2-b]
    maintenance: {{days: [SA, SU], start: "09:00", hours: 8}}
    system: {{machine_type: n2-standard-8, nodes: 2}}
  tidepool:slices:
    - {{accelerator: v4-16, zone: us-central2-b, capacity: spot, buffer: 0, maximum: {slices}}}
  tidepool:queues:
    teams: [{{name: bench}}]
"""

POOLS, VMS_A_POOL = 500, 20
NODE_POOLS = 1000
STEPS = 3000
_REASON_LINES = 15
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in which a system counts the largest resident size."""


def figures(sizes: Sequence[int], runs: int) -> Iterator[Figure]:
    """Every case. Where the pulumi CLI is on PATH it runs side by side. Raises Failure for a command that fails."""
    yield cold_preview_of_ci(runs)
    yield from explanations(runs)
    yield long_comment(runs)
    yield large_jobset(runs)
    yield rendered_node_pools(runs)
    yield many_node_pools(runs)
    for engine in ("local", *(["pulumi"] if shutil.which("pulumi") else [])):
        for size in sorted(sizes):
            yield from fleet_of(size, engine)


def cold_preview_of_ci(runs: int) -> Figure:
    """Preview of the committed ci stack with an empty state, Python's start included, the cloud already running."""
    with workspace(None) as (root, home):
        taken = [measure("preview ci, cold", vms_of_ci(), "local", root, home, "preview", "ci") for _ in range(runs)]
    return sorted(taken, key=lambda figure: figure.seconds)[len(taken) // 2]


def vms_of_ci() -> int:
    """How many VMs the committed ci stack declares."""
    return sum(pool.slices for pool in stack.load_stack(CHECKOUT, "ci").pools)


def explanations(runs: int) -> Iterator[Figure]:
    """Explain from a cold start: the committed ci stack, and 500 pools of 20 VMs each of which gets one more."""
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        before, after = Path(folder, "before.yaml"), Path(folder, "after.yaml")
        before.write_text(pools_text(POOLS, VMS_A_POOL))
        after.write_text(pools_text(POOLS, VMS_A_POOL + 1))
        ci = str(CHECKOUT / "stacks" / "Pulumi.ci.yaml")
        for case, vms, base, head in (
            ("explain ci, cold", vms_of_ci(), ci, ci),
            (f"explain {POOLS} pools", POOLS * VMS_A_POOL, str(before), str(after)),
        ):
            arguments = ("explain", "ci", "--base", base, "--head", head, "--format", "markdown")
            taken = [timed(case, vms, "none", CHECKOUT, Path(folder), *arguments) for _ in range(runs)]
            yield sorted(taken, key=lambda figure: figure.seconds)[len(taken) // 2]


def long_comment(runs: int) -> Figure:
    """The comment of a recorded plan that changes a label of every VM of a large fleet, no two alike."""
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        recorded = Path(folder, "preview.json")
        recorded.write_text(json.dumps({"steps": [relabelled(index) for index in range(STEPS)], "changeSummary": {}}))
        arguments = ("preview", "ci", "--from", str(recorded), "--format", "markdown")
        case = f"comment of {STEPS:,} steps"
        taken = [timed(case, STEPS, "none", CHECKOUT, Path(folder), *arguments) for _ in range(runs)]
    return sorted(taken, key=lambda figure: figure.seconds)[len(taken) // 2]


def large_jobset(runs: int) -> Figure:
    """The JobSet of one slice of 256 VMs, from a cold start; two seconds are allowed."""
    image = f"bench@sha256:{'0' * 64}"
    arguments = ("jobs", "submit", "bench", "--tpu", "v4-2048", "--image", image, "--dry-run", "--", "true")
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        taken = [timed("JobSet, cold", 256, "none", CHECKOUT, Path(folder), *arguments) for _ in range(runs)]
    return sorted(taken, key=lambda figure: figure.seconds)[len(taken) // 2]


def rendered_node_pools(runs: int) -> Figure:
    """Reading the same stack file, its node pools, and the objects of the queues that follow, in a process that has
    loaded what that takes; two seconds are allowed."""
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        path = Path(folder, "stacks", "Pulumi.bench.yaml")
        path.parent.mkdir()
        path.write_text(CLUSTER.format(slices=NODE_POOLS))
        taken = [_rendered(Path(folder)) for _ in range(runs)]
    return sorted(taken, key=lambda figure: figure.seconds)[len(taken) // 2]


def _rendered(root: Path) -> Figure:
    seconds, cpu_seconds = time.perf_counter(), time.process_time()
    config = stack.load_stack(root, "bench", alone=True)
    pools = slices.node_pools(config)
    if config.queues is not None:
        queue_objects.queue_objects(config, config.queues)
    return Figure(
        case=f"render {len(pools):,} node pools",
        vms=sum(pool.most.nodes for pool in pools),
        engine="none",
        seconds=round(time.perf_counter() - seconds, 2),
        cpu_seconds=round(time.process_time() - cpu_seconds, 2),
        peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT / 1e6, 1),
    )


def many_node_pools(runs: int) -> Figure:
    """Explain from a cold start: a cluster of so many slices of two VMs, each a node pool, that gets one more."""
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        before, after = Path(folder, "before.yaml"), Path(folder, "after.yaml")
        before.write_text(CLUSTER.format(slices=NODE_POOLS))
        after.write_text(CLUSTER.format(slices=NODE_POOLS + 1))
        arguments = ("explain", "bench", "--base", str(before), "--head", str(after), "--format", "markdown")
        case = f"explain {NODE_POOLS:,} node pools"
        taken = [timed(case, 2 * NODE_POOLS, "none", CHECKOUT, Path(folder), *arguments) for _ in range(runs)]
    return sorted(taken, key=lambda figure: figure.seconds)[len(taken) // 2]


def relabelled(index: int) -> dict[str, Any]:
    """One step of `pulumi preview --json`: a VM whose label changes."""
    kind, name = "gcp:tpu/v2Vm:V2Vm", f"bench-us-west4-a-{index}"

    def state(team: str) -> dict[str, Any]:
        labels = {"tidepool-pool": "bench", "tidepool-stack": "ci", "tidepool-owner": "marin", "team": team}
        account = {"email": "bench@tidepool-bench.iam.gserviceaccount.com"}
        inputs = {"acceleratorType": "v5litepod-4", "zone": "us-west4-a", "labels": labels, "serviceAccount": account}
        return {"inputs": inputs}

    return {
        "op": "update",
        "urn": f"urn:pulumi:ci::tidepool::{kind}::{name}",
        "oldState": state("before"),
        "newState": state(f"after-{index}"),
        "detailedDiff": {"labels.team": {"kind": "update", "inputDiff": True}},
    }


def pools_text(pools: int, vms: int) -> str:
    """A stack file of that many pools, each with that many VMs."""
    head, name, pool = STACK.format(count=vms).partition("    - name: bench")
    return head + "".join(f"{name}-{number}{pool}" for number in range(pools))


def fleet_of(size: int, engine: str) -> Iterator[Figure]:
    with workspace(size) as (root, home):
        for case, verb in (("preview", "preview"), ("up", "up"), ("preview again", "preview")):
            yield measure(case, size, engine, root, home, verb, "bench")


@contextmanager
def workspace(size: int | None) -> Generator[tuple[Path, Path]]:
    """A checkout of its own (the committed stacks, or one stack of `size` VMs) and a state folder; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        root, home = Path(folder, "root"), Path(folder, "home")
        root.mkdir()
        shutil.copy(CHECKOUT / "Pulumi.yaml", root)
        for shared in ("bench", "infra", "images", "LICENSE", "requirements-service.lock", ".venv"):
            (root / shared).symlink_to(CHECKOUT / shared)
        if size is None:
            shutil.copytree(CHECKOUT / "stacks", root / "stacks")
        else:
            (root / "stacks").mkdir()
            (root / "stacks" / "Pulumi.bench.yaml").write_text(STACK.format(count=size))
        tidepool(root, home, "cloud", "start", check=True)
        try:
            yield root, home
        finally:
            tidepool(root, home, "cloud", "stop", check=False)


def tidepool(root: Path, home: Path, *arguments: str, check: bool) -> None:
    environment = {**os.environ, "TIDEPOOL_ROOT": str(root), "TIDEPOOL_HOME": str(home)}
    subprocess.run([CHECKOUT / "tidepool", *arguments], env=environment, check=check, capture_output=True)


def measure(case: str, vms: int, engine: str, root: Path, home: Path, verb: str, stack: str) -> Figure:
    arguments = [verb, stack, "--engine", engine, "--cloud", "local", "--yes", "--json"]
    if verb == "preview":
        arguments.remove("--yes")
    return timed(case, vms, engine, root, home, *arguments)


def timed(case: str, vms: int, engine: str, root: Path, home: Path, *arguments: str) -> Figure:
    """One command as a process of its own; it must end with exit code 0."""
    environment = {**os.environ, "TIDEPOOL_ROOT": str(root), "TIDEPOOL_HOME": str(home)}
    started = time.perf_counter()
    command_line = [CHECKOUT / "tidepool", *arguments]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command_line, env=environment, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            # The reason of a stopped edit comes first on standard output, that of a failure last on standard error.
            lines = output.read().decode(errors="replace").splitlines()
            lines[_REASON_LINES:-_REASON_LINES] = ["..."] if len(lines) > 2 * _REASON_LINES else []
            raise Failure("\n".join((f"{case} of {vms} VMs: exit code {process.returncode}", *lines)))
    return Figure(
        case=case,
        vms=vms,
        engine=engine,
        seconds=round(seconds, 2),
        cpu_seconds=round(usage.ru_utime + usage.ru_stime, 2),
        peak_mb=round(usage.ru_maxrss * _MAXRSS_UNIT / 1e6, 1),
    )
