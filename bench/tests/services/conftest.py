"""Google's own client library, pointed at the local cloud."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError

from bench.cloud.testing import TestCloud, running_cloud

PROJECT = "tidepool-test"
Client = Callable[..., Any]


@cache
def _document(service: str, version: str) -> dict[str, Any]:
    path = files("googleapiclient.discovery_cache.documents").joinpath(f"{service}.{version}.json")
    return json.loads(path.read_bytes())


@pytest.fixture(scope="module")
def google() -> Iterator[TestCloud]:
    """A cloud for the tests of one module; they keep apart by names. Its clock moves half a second a request."""
    with running_cloud(ticking=0.5) as running:
        yield running


@contextmanager
def _clients(url: str) -> Generator[Client]:
    made: dict[tuple[str, str], Any] = {}

    def make(service: str, version: str = "v1") -> Any:
        key = (service, version)
        if key not in made:
            # Uploads take their host from the document and not from `api_endpoint`.
            root = f"{url}/container/" if service == "container" else f"{url}/"
            document = {**_document(service, version), "rootUrl": root}
            made[key] = build_from_document(document, credentials=AnonymousCredentials())
        return made[key]

    yield make
    for each in made.values():
        each.close()


@pytest.fixture(scope="module")
def client(google: TestCloud) -> Iterator[Client]:
    """`client(service, version)`: a client of google-api-python-client, made once a module."""
    with _clients(google.url) as make:
        yield make


@pytest.fixture(scope="module")
def still() -> Iterator[TestCloud]:
    """A cloud whose clock stands still until it is moved."""
    with running_cloud() as running:
        yield running


@pytest.fixture(scope="module")
def still_client(still: TestCloud) -> Iterator[Client]:
    """As `client`, of the cloud `still`."""
    with _clients(still.url) as make:
        yield make


@pytest.fixture(scope="session")
def refused() -> Callable[..., dict[str, Any]]:
    """`refused(code, request)`: run a request that must be refused with this HTTP code; the error object comes back."""

    def run(code: int, request: Any) -> dict[str, Any]:
        with pytest.raises(HttpError) as caught:
            request.execute()
        error = json.loads(caught.value.content)["error"]
        assert error["code"] == code == caught.value.status_code, error["message"]
        return error

    return run


@pytest.fixture(scope="session")
def settled() -> Callable[..., dict[str, Any]]:
    """`settled(begun, poll)`: ask `poll(name)` until the operation is done."""

    def wait(operation: dict[str, Any], poll: Callable[[str], Any]) -> dict[str, Any]:
        began = time.monotonic()
        while not operation.get("done") and operation.get("status") != "DONE":
            assert time.monotonic() - began < 10, f"{operation['name']} does not end"
            operation = poll(operation["name"]).execute()
        return operation

    return wait
