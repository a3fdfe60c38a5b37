"""What a VM is, by its metadata server, which may be slow or not be there yet at boot. What never changes is asked once
and kept, for later bundles and for the shell files too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from .effects import Host
from .wire import Response, UnansweredError, ask

_ATTEMPTS: Final = 5
_SECONDS: Final = 20
_OK: Final = 200

PATHS: Final = {
    "vm": "attributes/instance-id",  # the name of the TPU node
    "machine": "id",
    "worker": "attributes/agent-worker-number",
    "endpoints": "attributes/worker-network-endpoints",
    "tpu-env": "attributes/tpu-env",
    **{name: f"attributes/tidepool-{name}" for name in ("bucket", "stack", "pool", "region")},
}
"""The names of a TPU VM's attributes are as Ray reads them: https://github.com/ray-project/ray,
python/ray/_private/accelerators/tpu.py (read 2026-11).
"""


class Metadata:
    """own: the folder of what is kept. sleep: waits so many seconds. log: told what is tried again."""

    def __init__(self, own: Path, *, sleep: Callable[[int], None], log: Callable[[str], None]) -> None:
        self._own, self._sleep, self._log = own, sleep, log

    def host(self) -> Host:
        """Raises UnansweredError."""
        endpoints, worker = self.own("endpoints"), self.own("worker")
        if not worker.isdigit():
            raise UnansweredError(f"the metadata server gives {worker!r} for the number of this host")
        return Host(
            stack=self.own("stack"),
            pool=self.own("pool"),
            region=self.own("region"),
            vm=self.own("vm"),
            machine=self.own("machine"),
            worker=int(worker),
            addresses=tuple(each.rpartition(":")[2] for each in endpoints.split(",")),
        )

    def own(self, name: str) -> str:
        """Something that this VM is, asked for once. Raises UnansweredError."""
        file = self._own / name
        try:
            kept = file.read_text(encoding="utf-8")
        except OSError:
            kept = ""
        if kept:
            return kept
        value = self.ask(PATHS[name]).content.decode("utf-8", "replace").rstrip("\n")
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{name}.part")
        part.write_text(value, encoding="utf-8")
        part.replace(file)
        return value

    def access_token(self) -> str:
        """Of the VM's account. Raises UnansweredError."""
        try:
            return str(json.loads(self.ask("service-accounts/default/token").content)["access_token"])
        except (ValueError, KeyError, TypeError):
            raise UnansweredError("the metadata server gives no token") from None

    def identity(self, audience: str) -> str:
        """Raises UnansweredError."""
        return self.ask(_identity(audience)).content.decode("ascii", "replace").strip()

    def proof(self, audience: str) -> str:
        """An identity token for a report, which goes without one rather than wait. Raises UnansweredError."""
        answer = self._once(_identity(audience), 5)
        return answer.content.decode("ascii", "replace").strip() if answer.status == _OK else ""

    def ask(self, path: str) -> Response:
        """Again after 2, 4, 8 ... seconds. Raises UnansweredError."""
        delay, why = 2, ""
        for number in range(1, _ATTEMPTS + 1):
            try:
                answer = self._once(path, _SECONDS)
            except UnansweredError as error:
                why = str(error)
            else:
                if answer.status == _OK:
                    return answer
                why = f"it answered with {answer.status}"
            if number < _ATTEMPTS:
                self._log(f"attempt {number} of {_ATTEMPTS} failed: metadata {_shown(path)}: {why}; again in {delay} s")
                self._sleep(delay)
                delay *= 2
        raise UnansweredError(f"gave up after {_ATTEMPTS} attempts: metadata {_shown(path)}: {why}")

    def _once(self, path: str, seconds: int) -> Response:
        url = f"http://{os.environ.get('GCE_METADATA_HOST', '169.254.169.254')}/computeMetadata/v1/instance/{path}"
        return ask("GET", url, headers={"Metadata-Flavor": "Google"}, seconds=seconds)


def _identity(audience: str) -> str:
    query: Mapping[str, str] = {"audience": audience, "format": "full"}
    return f"service-accounts/default/identity?{urlencode(query)}"


def _shown(path: str) -> str:
    return path.partition("?")[0]
