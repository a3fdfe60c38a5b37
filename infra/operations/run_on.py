"""Run one command on a TPU VM that is made for it and deleted after it.

Owns what a stack file makes of an order, what is sent as the tree, and on which cloud. How a run goes is
`infra.fleet.runs`.
"""

from __future__ import annotations

import io
import os
import secrets
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from infra.fleet.broker.identity import google_keys
from infra.fleet.google import clients
from infra.fleet.records import Records
from infra.fleet.runs.cloud import BucketLedger, BucketObjects, GoogleTpuVms
from infra.fleet.runs.decide import RunEnd
from infra.fleet.runs.ports import RunPorts
from infra.fleet.runs.run import Run
from infra.fleet.runs.signals import cancellable
from infra.model.catalogue import AcceleratorType, UnknownNameError
from infra.model.runs import RunRequest, RunTimes, is_contained, made_as, over_lifetime, run_places
from infra.model.schema import StackConfig
from infra.operations.declared.stack_file import known_stacks, stack_file
from infra.operations.errors import Refusal
from infra.operations.fleet.looks import guests_at
from infra.operations.ports import RUN_SECONDS, SILENT, CloudName, Teller, Tone
from infra.operations.session import CloudSession, open_cloud
from infra.tools import collector

__all__ = ("RunEnd", "RunOrder", "run_on")

CREATE, READY, DELETE, SPARE = 900, 1200, 600, 300
MOST_TREE: Final = 256 << 20
"""Bytes of a tree, packed."""
CALL_SECONDS: Final = 15.0
_POLL, _LOCAL_POLL = 5.0, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """What somebody wants run. limit: seconds of the command.

    stack: empty for the one whose runs may have the accelerator. zones, kinds: empty for the stack's. image: empty for
    the VM's own system. tree: a folder that is sent, None for nothing. results: paths below it that come back to
    `into`. run: letters and digits, empty for a new one.
    """

    accelerator: str
    command: tuple[str, ...]
    stack: str = ""
    zones: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    image: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    tree: Path | None = None
    results: tuple[str, ...] = ()
    into: Path = Path("run-results")
    limit: int = RUN_SECONDS
    rounds: int = 3
    suite: str = ""
    run: str = ""


def run_on(
    order: RunOrder,
    *,
    cloud: CloudName | None = None,
    teller: Teller = SILENT,
    log: Callable[[int, bytes], None] = lambda _host, _piece: None,
    agree: Callable[[str, CloudName], None] = lambda _what, _cloud: None,
) -> RunEnd:
    """Run it, and how it ended; the VM is deleted whatever happens.

    log: gets each piece of what the command prints, with the number of its host. agree: is asked before anything is
    made. ConfigError and Refusal for what cannot be asked for, GoogleError without credentials.
    """
    config = _config(order)
    request = run_request(config, order)
    tree = None if order.tree is None else packed(order.tree)
    session = open_cloud(cloud, teller)
    agree(f"Making a {order.accelerator} of stack {config.stack} for one run", session.cloud)
    run = order.run or secrets.token_hex(5)
    with clients(request.project, session.endpoint, hurried=True, seconds=CALL_SECONDS) as google:
        ports = RunPorts(
            vms=GoogleTpuVms(google),
            objects=BucketObjects(google, request.bucket),
            ledger=BucketLedger(Records(google=google, bucket=request.bucket), request.stack),
            keys=google_keys(session.endpoint, session.clock),
            clock=lambda: session.clock().timestamp(),
            sleep=_sleep(session),
            tell=lambda line: teller.say(line, Tone.QUIET),
            log=log,
            poll=_POLL if session.endpoint is None else _LOCAL_POLL,
        )
        into = order.into if order.results else None
        one = Run(request=request, run=run, attempt=1, ports=ports, tree=tree, into=into)
        with cancellable():
            return one.whole()


def ended_lines(ended: RunEnd) -> Iterator[str]:
    """How a run ended, for people."""
    yield f"{ended.reason}: {ended.says}"
    yield ended.vm_use
    yield from ended.results
    if ended.left:
        yield f"not deleted: {ended.left}; the controller does once its time to live is over"


def run_request(config: StackConfig, order: RunOrder) -> RunRequest:
    """What an order is by a stack file; ConfigError and Refusal for what the stack does not let runs have."""
    accelerator, pool = _accelerator(order.accelerator), made_as(config)
    places = run_places(config, accelerator, order.zones, order.kinds)
    times = RunTimes(create=CREATE, ready=READY, limit=order.limit, delete=DELETE, spare=SPARE)
    if too_long := over_lifetime(config, times):
        raise Refusal(f"--limit {order.limit}s: {too_long}")
    runs = config.runs
    if runs is None:
        raise ValueError("made_as says so")
    return RunRequest(
        stack=config.stack,
        project=config.project,
        bucket=config.bucket.name,
        pool=pool.name,
        accelerator=accelerator.name,
        hosts=accelerator.hosts,
        places=places,
        zones=runs.zones,
        rounds=order.rounds,
        command=order.command,
        image=order.image,
        env=dict(order.env),
        contained=is_contained(pool),
        results=order.results,
        suite=order.suite,
        times=times,
    )


def _config(order: RunOrder) -> StackConfig:
    """The stack that is named, or the one whose runs may have such a VM."""
    if order.stack:
        return stack_file(order.stack).config
    _accelerator(order.accelerator)
    having = {stack: runs for stack in known_stacks() if (runs := stack_file(stack).config.runs) is not None}
    may = [stack for stack, runs in having.items() if order.accelerator in [each.name for each in runs.accelerators]]
    if len(may) == 1:
        return stack_file(may[0]).config
    if may:
        raise Refusal(f"runs of {', '.join(may)} may make a {order.accelerator}; say which with --stack")
    known = f"stacks with runs: {', '.join(having)}" if having else "declare tidepool:runs (docs/runs.md)"
    raise Refusal(f"runs of no stack may make a {order.accelerator}; {known}")


def _accelerator(name: str) -> AcceleratorType:
    try:
        return AcceleratorType.parse(name)
    except UnknownNameError as error:
        raise Refusal(str(error)) from None


def packed(tree: Path) -> bytes:
    """A folder as `tar.gz`: what git tracks or would track there, or everything where it is no work tree of git.

    Refusal for one that is too large, or is none, and where git does not say what it ignores.
    """
    if not tree.is_dir():
        raise Refusal(f"--tree {tree}: there is no such folder; name one, or copy nothing with --no-tree")
    names = _of_git(tree)
    if names is None:
        names = sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir())
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name in names:
            if (tree / name).is_symlink() or (tree / name).exists():
                archive.add(tree / name, name, recursive=False)
            if content.tell() > MOST_TREE:
                raise Refusal(
                    f"--tree {tree}: it has more than {MOST_TREE >> 20} MiB packed; ignore what is not needed"
                )
    return content.getvalue()


def _of_git(tree: Path) -> list[str] | None:
    """What git tracks or would track of a folder; None where no folder above it is a work tree.

    Refusal where there is one and git does not say: what it ignores, such as keys, is never copied in its place.
    """
    asked = ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if not any((each / ".git").exists() for each in (tree.resolve(), *tree.resolve().parents)):
        return None
    try:
        listed = subprocess.run(asked, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        why = said.decode(errors="replace").strip().partition("\n")[0]
        raise Refusal(
            f"--tree {tree}: git does not say what it tracks there ({why}); mend that, or copy nothing with --no-tree"
        ) from None
    return sorted({os.fsdecode(each) for each in listed.stdout.split(b"\0") if each})


def _sleep(session: CloudSession) -> Callable[[float], None]:
    """Real time; on the local cloud guests of VMs for runs live meanwhile, for they do only where somebody looks."""
    collector.as_usual()
    guests = guests_at(session.endpoint)
    if guests is None:
        return time.sleep

    def sleep(seconds: float) -> None:
        guests.settle_runs()
        time.sleep(seconds)

    return sleep
