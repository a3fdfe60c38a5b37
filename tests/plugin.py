"""Fixtures and marks for the tests of every room and of the bench; pytest loads this as a plugin."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.counted_prices import changed_prices
from tests.lacking import lacking

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

# The same examples in every run and on every machine: what passed here passes there.
settings.register_profile("tidepool", deadline=None, derandomize=True)
settings.load_profile("tidepool")

# What a shell starts in the background ignores INT, what nohup starts HUP, and so would the children of tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).parents[1]
END_TO_END = (
    "bench/tests/builds",
    "bench/tests/cloud/test_daemon.py",
    "bench/tests/end_to_end",
    "bench/tests/services/test_gcloud_services.py",
    "tests/cli",
    "tests/engines",
    "tests/fleet/broker/test_whole_path.py",
    "tests/fleet/runs/test_whole_runs.py",
    "tests/fleet/simulation",
    "tests/fleet/test_runner_boot.py",
    "tests/fleet/test_runner_docker.py",
    "tests/fleet/test_runner_isolation.py",
    "tests/fleet/test_runner_slice.py",
    "tests/fleet/test_runner_supervisor.py",
    "tests/fleet/test_service.py",
    "tests/jobs/test_enter.py",
    "tests/jobs/test_former_launcher.py",
    "tests/jobs/test_job_commands.py",
    "tests/jobs/test_jobs_on_local_cluster.py",
    "tests/jobs/test_local.py",
    "tests/jobs/test_tiny_training.py",
    "tests/launcher",
    "tests/program/test_edits.py",
    "tests/program/test_never.py",
    "tests/workflows/test_collecting.py",
    "tests/workflows/test_hub_scripts.py",
    "tests/workflows/test_job_shell.py",
)
"""Folders and modules whose tests start processes or carry a whole stack: all that is not here is a unit test."""


FORCE_COLOUR = ("CI", "CLICOLOR_FORCE", "COLORTERM", "FORCE_COLOR", "GITHUB_ACTIONS", "TTY_COMPATIBLE")
"""Variables by which tools colour what goes to a pipe: tests read plain text, on a developer's machine and in CI."""


def pytest_configure() -> None:
    for name in FORCE_COLOUR:
        os.environ.pop(name, None)
    if gone := [part for part in END_TO_END if not (ROOT / part).exists()]:
        raise pytest.UsageError(f"END_TO_END of {__file__} names what is not there: {', '.join(gone)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name each price that differs from those that figures in tests are counted with, beside a test that fails."""
    report = yield
    if report.failed and (said := changed_prices()):
        report.sections.append(("list prices", "\n".join(said)))
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    parts = {ROOT / part for part in END_TO_END}
    whole = {path for path in {item.path for item in items} if not parts.isdisjoint((path, *path.parents))}
    for item in items:
        if item.path in whole:
            item.add_marker(pytest.mark.end_to_end)
    # Long modules first: one that began last would keep a single worker busy while the others have nothing left.
    items.sort(key=lambda item: item.path not in whole)


def pytest_collection_finish() -> None:
    """What stands now stands to the end of the run: to walk it at each collection is time lost."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="Write golden files anew where they differ.")


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written instead of only compared."""
    return bool(request.config.getoption("--update-goldens"))


@pytest.fixture(scope="module")
def cheap_keys() -> Iterator[None]:
    """States of this module under keys of one round: a real key costs more than making the stack. Not where a child
    process reads them too."""
    from bench.engine import secrets

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "ROUNDS", 1)
        patch.setattr(secrets, "_keys", {})
        yield


@pytest.fixture
def cloud() -> Iterator[TestCloud]:
    """A local Google Cloud of its own on loopback: `url`, `control`, `wall` (its clock stands still until moved)."""
    from bench.cloud.testing import running_cloud

    with running_cloud() as running:
        yield running


@pytest.fixture
def ticking_cloud() -> Iterator[TestCloud]:
    """As `cloud`, with a clock that moves half a second a request, for clients that poll operations to the end."""
    from bench.cloud.testing import running_cloud

    with running_cloud(ticking=0.5) as running:
        yield running


@pytest.fixture
def google() -> Iterator[Callable[[str, str, str], Any]]:
    """Makes google-api-python-client for a root URL, a service and a version, from its shipped discovery document."""
    from googleapiclient.discovery import build_from_document
    from googleapiclient.discovery_cache import get_static_doc
    from googleapiclient.http import build_http

    transports = []

    def client(url: str, service: str, version: str) -> Any:
        transports.append(build_http())
        # An `api_endpoint` option would leave uploads at the public host, which only `rootUrl` says.
        document = json.loads(get_static_doc(service, version)) | {"rootUrl": f"{url}/"}
        return build_from_document(document, http=transports[-1])

    yield client
    for transport in transports:
        transport.close()


@pytest.fixture
def tool() -> Callable[[str], str]:
    """Finds a program that a test needs; the test is skipped, or with TIDEPOOL_STRICT=1 fails, where it is absent."""

    def find(name: str) -> str:
        return shutil.which(name) or lacking(f"{name} is not installed")

    return find
