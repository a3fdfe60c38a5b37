"""Google's client libraries, the generated ones over their REST transport, pointed at the local cloud."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials

from bench.cloud.testing import TestCloud, running_cloud

PROJECT = "client-lab"


@pytest.fixture(scope="module")
def google() -> Iterator[TestCloud]:
    """A cloud for the tests of one module. Its clock moves half a second a request, so operations end when polled."""
    with running_cloud(ticking=0.5) as running:
        yield running


@pytest.fixture(scope="module")
def rest(google: TestCloud) -> Iterator[Callable[[type], Any]]:
    """Makes a client of a generated class, with the custom endpoint and the transport that a lab would give it."""
    made = []

    def make(kind: type) -> Any:
        options = ClientOptions(api_endpoint=google.url)
        made.append(kind(credentials=AnonymousCredentials(), transport="rest", client_options=options))
        return made[-1]

    yield make
    for each in made:
        each.transport.close()
