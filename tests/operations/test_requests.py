"""Who a request is from, as status shows it."""

from __future__ import annotations

import getpass

import pytest

from infra.operations.workspace import login


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 4711"), OSError("No username set")])
def test_a_request_of_a_user_without_a_name_is_somebodys(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def unnamed() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", unnamed)
    assert login() == "somebody"
