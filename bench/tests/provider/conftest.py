"""A provider at a local cloud on loopback, with time that passes only when somebody waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.cloud.testing import TestCloud, running_cloud
from bench.providers.google import GoogleProvider
from bench.providers.google.settings import ProviderSettings
from bench.providers.google.transport import RestApi
from bench.tests.provider.virtual_time import VirtualTime

PROJECT = "hai-gcp-models"


@pytest.fixture(scope="session")
def serving() -> Iterator[TestCloud]:
    """One cloud for the session, its answers checked against Google's discovery documents."""
    with running_cloud(ticking=0.05) as cloud:
        yield cloud


@pytest.fixture
def cloud(serving: TestCloud) -> TestCloud:
    serving.control.reset()
    return serving


@pytest.fixture
def virtual() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def provider(cloud: TestCloud, virtual: VirtualTime) -> GoogleProvider:
    api = RestApi(cloud.url, now=virtual.now, idle=virtual)
    return GoogleProvider(cloud.url, api=api, settings=ProviderSettings(project=PROJECT))
