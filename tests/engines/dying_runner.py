"""A process that forks runs of the embedded engine's `up` and lets them die where it is told; `DyingUps` drives it.

It imports everything once and stays single-threaded, so that a fork is cheap and safe. One JSON object a line comes in
(`root`, `home`, `url`, `stack`, `at`), one exit code a line goes out: 0 and 1 of an `up` that came to its end before.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi_gcp as gcp

from bench import embedded
from bench.engine.journal import Journal
from bench.providers.google.transport import RestApi
from infra.engines.protocol import CloudName, EngineRequest
from infra.program.stack import run as program
from tests.engines.dying_ups import DIED, ENVIRONMENT

_MADE = {gcp.tpu: "V2Vm", gcp.compute: "Network", gcp.serviceaccount: "Account", gcp.storage: "Bucket"}


def dying(after: int) -> Callable[..., None]:
    """To be called at each moment that counts; the last thing that it does is what kill -9 does."""
    moments = itertools.count(1)

    def passed(*_: object) -> None:
        if next(moments) == after:
            os._exit(DIED)

    return passed


def up(root: str, home: str, url: str, stack: str, at: int) -> int:
    moment = dying(at)
    plain, append = RestApi.call, Journal._append

    def call(self: RestApi, *args: Any, **kwargs: Any) -> Any:
        moment()
        answer = plain(self, *args, **kwargs)
        moment()
        return answer

    def written(self: Journal, record: Any) -> None:
        append(self, record)
        moment()

    RestApi.call, Journal._append = call, written
    request = EngineRequest(root=Path(root), home=Path(home), stack=stack, cloud=CloudName.LOCAL, cloud_url=url)
    return 1 if embedded.EmbeddedEngine(request, environ=ENVIRONMENT).up().failed else 0


def main() -> None:
    assert callable(program)
    assert all(getattr(module, name) for module, name in _MADE.items()), "imported when first used, which is slow"
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                os._exit(up(**json.loads(line)))
            except BaseException as error:  # noqa: BLE001 - whatever it is, the child must not return
                sys.stderr.write(f"{error!r}\n")
                os._exit(2)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
