"""The local GitHub with a repository in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.cloud.control import Control
from bench.cloud.testing import running_cloud
from infra.github.client import WORKFLOW_LOGIN
from tests.github.lab_repository import FORK, REPO, SHA, TOKEN, Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    with running_cloud() as cloud:
        control = Control(cloud.url)
        permissions = {"pull-requests": "write", "issues": "write"}
        control.add_token(TOKEN, WORKFLOW_LOGIN, app=True, permissions=permissions)
        control.add_repository(REPO)
        control.add_repository(FORK)
        yield Lab(control, control.open_pull(REPO, branch="edit", sha=SHA))
