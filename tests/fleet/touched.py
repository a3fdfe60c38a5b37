"""Which parts of a fleet bucket are read and written meanwhile: docs/serving.md says which may be, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from infra.fleet.records import Records


@contextmanager
def touched(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[set[str], set[str]]]:
    """Parts that are read, and parts that are written, such as `control` and `runner/orders`."""
    read: set[str] = set()
    written: set[str] = set()
    with monkeypatch.context() as patch:
        for method, parts in (("_look_up", read), ("_body", read), ("replace_content", written)):
            patch.setattr(Records, method, _noting(getattr(Records, method), parts))
        yield read, written


def _noting(method: Callable[..., Any], parts: set[str]) -> Callable[..., Any]:
    def noted(self: Records, name: str, *rest: Any, **more: Any) -> Any:
        folder = name.rpartition("/")[0]
        parts.add(folder if folder == "runner/orders" else folder.partition("/")[0])
        return method(self, name, *rest, **more)

    return noted
