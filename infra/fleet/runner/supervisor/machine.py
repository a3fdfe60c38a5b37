"""Carries out on a VM what decisions ask for. Requests and files here; what changes the machine is a shell file each.

Secrets pass through variables and pipes alone: no file, no command line, no environment and no log ever holds one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

from . import effects as e
from . import limits, report
from .bucket import Bucket, storage
from .container import CONTAINER
from .disk import Disk
from .jobs import broker_answer
from .metadata import Metadata
from .state import State
from .streams import Container
from .wire import UnansweredError, ask

_SPARE_BYTES: Final = 1_000_000
_MEMORY: Final = re.compile(r"^MemTotal: *(\d+) kB$", re.MULTILINE)


def log(text: str) -> None:
    print(f"{report.moment(time.time())} tidepool: {text}", file=sys.stderr, flush=True)  # noqa: T201 - the log of a unit


class Machine:
    """here: the unpacked bundle. root: of the file system, `/` on a VM. state: whose report is written."""

    def __init__(self, here: Path, root: Path, disk: Disk, state: State) -> None:
        self._here, self._root, self._disk, self._state = here, root, disk, state
        self._metadata = Metadata(disk.root / "own", sleep=self.sleep, log=log)
        self._bucket = Bucket(self._metadata)
        self._slice = disk.root / "slice"
        self.container: Container | None = None

    def carry_out(self, steps: e.Steps[Any]) -> Any:
        """Until a decision is through; what it said is kept before anything of it is done."""
        came_to = e.carried_out(steps, self._perform)
        self._keep()
        return came_to

    def sleep(self, seconds: int) -> None:
        subprocess.run(["sleep", str(seconds)], check=False)

    def _keep(self) -> None:
        try:
            self._disk.keep(self._state)
        except OSError as error:
            # Nothing waits for it: a disk with nothing left is what the next decisions find out and say.
            log(f"the state could not be kept: {error.strerror}")

    def _perform(self, effect: e.Effect) -> Any:
        self._keep()
        try:
            return self._performed(effect)
        except (UnansweredError, subprocess.TimeoutExpired, OSError) as error:
            log(str(error))
            return e.Failed(str(error))

    def _performed(self, effect: e.Effect) -> Any:
        match effect:
            case e.Log():
                log(effect.text)
            case e.Tell():
                print(f"tidepool-event: {report.line(effect.event)}", file=sys.stderr, flush=True)  # noqa: T201 - the console
            case e.WriteReport():
                return self._write_report()
            case e.WhoAmI():
                return self._metadata.host()
            case e.Read():
                return self._read(effect.name)
            case e.Write():
                self._bucket.put(effect.name, json.dumps(dict(effect.document)).encode())
            case e.Register():
                return self._register(effect.broker, effect.body)
            case e.RunStep():
                return self._step(effect.name, *effect.arguments)
            case e.RunSteps():
                with ThreadPoolExecutor(len(effect.steps)) as pool:
                    return tuple(pool.map(self._timed, effect.steps))
            case e.FreeDisk():
                return self._free_mb()
            case e.KeepSpare():
                self._keep_spare()
            case e.DropSpare():
                (self._disk.root / "spare").unlink(missing_ok=True)
            case e.ReadSkew():
                return self._skew()
            case e.PrepareJob():
                return self._prepare(effect.image)
            case e.RunContainer():
                self.container = Container.begin(effect.arguments, effect.jit)
            case e.StopContainer():
                self.stop_container()
            case e.FetchBundle():
                return self._fetch(effect.sha256)
            case e.StartOver():
                self._start_over(effect.bundle)
            case e.Sleep():
                self.sleep(effect.seconds)
            case e.MakeKey():
                return self._made_key(effect.name)
            case e.WriteSlice():
                for name, text in effect.files.items():
                    (self._slice / name).write_text(text, encoding="ascii")
            case e.NewSlice():
                self._drop_slice()
                self._slice.mkdir(parents=True)
            case e.DropSlice():
                self._drop_slice()
            case e.Answers():
                return _answers(effect.address)
        return None

    # Requests

    def _write_report(self) -> None:
        """Tried twice and no more."""
        host = self._metadata.host()
        text = report.text(self._state, host, time.time())
        try:
            proof = self._metadata.proof(report.audience(text))
        except UnansweredError:
            proof = ""
        content = report.sealed(text, proof).encode()
        try:
            self._bucket.put(report.report_object(host), content)
        except UnansweredError:
            self._bucket.put(report.report_object(host), content)

    def _read(self, name: str) -> Any:
        content = self._bucket.get(name)
        try:
            return None if content is None else json.loads(content)
        except (ValueError, RecursionError):
            return e.Failed(f"{name} is not JSON")

    def _register(self, broker: str, body: Mapping[str, str]) -> e.Answer:
        token = self._metadata.identity(broker)
        # Cloud Run takes the signature off the token that it checks. Of two headers it checks the second.
        headers = {"Authorization": f"Bearer {token}", "X-Serverless-Authorization": f"Bearer {token}"}
        headers["Content-Type"] = "application/json"
        url = f"{broker.rstrip('/')}/v1/registrations"
        try:
            answer = ask("POST", url, headers=headers, body=json.dumps(dict(body)).encode(), seconds=90)
        except UnansweredError as error:
            log(str(error))
            return e.Answer(0)
        return broker_answer(answer.status, answer.headers.get("retry-after", ""), answer.content)

    def _skew(self) -> int | None:
        """By the metadata server, whose time is the machine's below this one: it needs neither a network nor TLS, which
        a wrong clock breaks. Should it send no date, as nothing promises that it does, the bucket's answer has one (RFC
        9110, 6.6.1).
        """
        said = self._metadata.ask("id").headers.get("date")
        if not said:
            try:
                said = ask("GET", f"{storage()}/", seconds=20).headers.get("date")
            except UnansweredError as error:
                log(str(error))
        try:
            return int(time.time()) - int(parsedate_to_datetime(said).timestamp()) if said else None
        except (TypeError, ValueError):
            return None

    def _fetch(self, sha256: str) -> e.Failed | None:
        try:
            content = self._bucket.get(f"runner/bundles/{sha256}.tar.gz")
        except UnansweredError as error:
            log(str(error))
            content = None
        if content is None:
            return e.Failed("cannot be read")
        if hashlib.sha256(content).hexdigest() != sha256:
            return e.Failed("has other bytes than its name says")
        archive, target = self._disk.root / "bundle.new", self._disk.root / sha256
        archive.write_bytes(content)
        target.mkdir(exist_ok=True)
        done = subprocess.run(["tar", "-xzf", str(archive), "-C", str(target)], check=False)
        return e.Failed("cannot be unpacked") if done.returncode else None

    # The machine

    def _timed(self, step: e.RunStep) -> e.Ended:
        began = time.monotonic()
        try:
            failed = self._step(step.name, *step.arguments)
        except OSError as error:
            failed = e.Failed(str(error))
        return e.Ended(time.monotonic() - began, failed)

    def _step(self, name: str, *arguments: str, printed: bool = False) -> Any:
        """A shell file's run: what it printed, or None where nobody asks; where it failed, why it says that it did."""
        blame = self._disk.root / f"blame-{Path(name).name}"
        blame.unlink(missing_ok=True)
        done = subprocess.run(
            ["bash", str(self._here / f"{name}.sh"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if printed else None,
            env=os.environ | {"TIDEPOOL_BLAME": str(blame)},
            check=False,
        )
        if done.returncode:
            return e.Failed(blame.read_text(encoding="ascii", errors="replace") if blame.exists() else "")
        return done.stdout.decode("ascii", "replace") if printed else None

    def _made_key(self, name: str) -> Any:
        printed = self._step("machine/make-key", name, printed=True)
        return printed if isinstance(printed, e.Failed) else printed.strip()

    def _free_mb(self) -> int:
        done = subprocess.run(
            ["df", "--output=avail", "-BM", str(self._disk.root)], stdout=subprocess.PIPE, text=True, check=False
        )
        return int("0" + re.sub(r"[^0-9]", "", done.stdout.strip().rpartition("\n")[2]))

    def _keep_spare(self) -> None:
        spare = self._disk.root / "spare"
        if not spare.exists():
            spare.write_bytes(b" " * _SPARE_BYTES)

    def _drop_slice(self) -> None:
        if self._slice.exists():
            shutil.rmtree(self._slice)

    def _prepare(self, image: str) -> e.Prepared | e.Failed:
        found = _MEMORY.search((self._root / "proc/meminfo").read_text(encoding="ascii", errors="replace"))
        if found is None:
            return e.Failed("how much memory there is cannot be read")
        printed = self._step("machine/prepare-job", image, printed=True)
        if isinstance(printed, e.Failed):
            return printed
        said = dict(line.partition("=")[::2] for line in printed.splitlines())
        return e.Prepared(
            memory_mb=int(found[1]) // 1024,
            devices=tuple(self._devices()),
            tpu_env=self._tpu_env(),
            cache="cache" in said,
            runner="runner" in said,
            uv_cache=said["uv_cache"],
            job=str(self._disk.root / "job"),
            slice_folder=str(self._slice),
            hosts_command=str(self._here / "tidepool-hosts.sh"),
        )

    def _tpu_env(self) -> str:
        """Empty where Google says nothing: libtpu then finds out for itself, or says why not."""
        try:
            return self._metadata.own("tpu-env")
        except UnansweredError as error:
            log(str(error))
            return ""

    def _devices(self) -> Iterator[tuple[str, str]]:
        """v5e and newer are behind vfio; v4 has a driver of its own
        (https://github.com/ray-project/ray, python/ray/_private/accelerators/tpu.py, read 2026-11).
        """
        vfio = self._root / "dev/vfio"
        for device in [vfio] if vfio.exists() else sorted(self._root.glob("dev/accel[0-9]*")):
            yield str(device), f"/{device.relative_to(self._root)}"

    def stop_container(self) -> None:
        """Ask it to end, for a minute at most."""
        nowhere = subprocess.DEVNULL
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(["docker", "stop", CONTAINER], check=False, timeout=60, stdout=nowhere, stderr=nowhere)

    def _start_over(self, bundle: str) -> None:
        """This process goes on as the boot. What Python ignores its children would ignore for good."""
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp("bash", ["bash", str(self._disk.root / bundle / "start.sh")])  # noqa: S606 - no shell is between


def _answers(address: str) -> bool:
    try:
        socket.create_connection((address, limits.SSH_PORT), timeout=3).close()
    except OSError:
        return False
    return True
