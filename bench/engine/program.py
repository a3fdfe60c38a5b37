"""Running a Pulumi program in this process, against a monitor object instead of a gRPC channel.

Owns the SDK's settings, its event loop and the threads in which it calls the monitor. Settings, config and root stack
live in a context of their own, so that one process can run many programs.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import traceback
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pulumi.errors import RunError
from pulumi.runtime import config as sdk_config
from pulumi.runtime import resource as sdk_resource
from pulumi.runtime import settings as sdk_settings
from pulumi.runtime.proto.source_pb2 import StackTrace
from pulumi.runtime.stack import run_in_stack

from infra.model.errors import ConfigError

if TYPE_CHECKING:
    from bench.engine.monitor import Monitor
    from bench.engine.run import EngineRun

# No step and no state here has a position in the source. To find one, the SDK looks at every frame below each
# registration and at the file of each: a sixth of an `up` of ci, in processor time.
sdk_resource._get_stack_trace = StackTrace  # noqa: SLF001  # ty: ignore[invalid-assignment] - no setting

SPARE_THREADS = 4
"""Threads beyond the parallel ones, so that invokes and outputs do not wait behind resources."""


class _Inline(asyncio.SelectorEventLoop):
    """Runs at once, in its own thread, what would go to another: a preview waits for nothing, so threads only cost.

    Whoever awaits the result goes on in the same turn, so a request is gone before the next one is read.
    """

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        del executor
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits the future
            future.set_exception(error)
        return future


def execute(
    program: Callable[[], None],
    monitor: Monitor,
    run: EngineRun,
    *,
    project: str,
    stack: str,
    config: Mapping[str, str],
) -> bool:
    """Run the program to its end; True where it ended well.

    What it raised is an `error` diagnostic of the run, but for a ConfigError, which goes on to the caller.
    """
    with warnings.catch_warnings():
        # What a failed program leaves is collected at once, so that Python has nothing to complain about later.
        warnings.filterwarnings("ignore", r"coroutine 'Output\..*' was never awaited", RuntimeWarning)
        ended_well = contextvars.copy_context().run(_body, program, monitor, run, project, stack, config)
        if not ended_well:
            gc.collect()
    return ended_well


def _body(
    program: Callable[[], None], monitor: Monitor, run: EngineRun, project: str, stack: str, config: Mapping[str, str]
) -> bool:
    loop = _Inline() if run.preview else asyncio.new_event_loop()
    executor = ThreadPoolExecutor(run.options.parallel + SPARE_THREADS, "resource")
    loop.set_default_executor(executor)
    loop.set_exception_handler(lambda _loop, _context: None)  # the first failure is told; its echoes are not
    try:
        _configure(monitor, run, project, stack, config)
        loop.run_until_complete(run_in_stack(program))
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - a program may raise anything, and it is its author's to see
        if not run.stopping.is_set() and str(error) not in monitor.told:
            _tell(run, error)
        return False
    finally:
        _drain(loop)
        executor.shutdown(wait=True)
        loop.close()
    return True


def _configure(monitor: Monitor, run: EngineRun, project: str, stack: str, config: Mapping[str, str]) -> None:
    settings = sdk_settings.Settings(
        project=project,
        stack=stack,
        monitor=monitor,
        engine=monitor,
        parallel=run.options.parallel,
        dry_run=run.preview,
        organization="organization",
    )
    sdk_settings.configure(settings)
    sdk_settings.ROOT.set(None)
    sdk_config.set_all_config(dict(config), [])


def _drain(loop: asyncio.AbstractEventLoop) -> None:
    """Let go of what a failed program left waiting, and of what that begins in its turn."""
    while pending := asyncio.all_tasks(loop):
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))


def _tell(run: EngineRun, error: Exception) -> None:
    """A RunError speaks for itself; anything else is a fault of the program, and its author needs the place."""
    if isinstance(error, RunError):
        run.say("error", str(error))
        return
    own = [each for each in traceback.extract_tb(error.__traceback__) if "/site-packages/" not in each.filename]
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    run.say("error", f"the program failed{place}: {type(error).__name__}: {error}")
