"""A life of a resource of every type (`lives.yaml`): how it is declared, what it is updated to, and its id."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.providers.google import GoogleProvider
from infra.model.facts import read_yaml

Declared = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Life:
    """A row of the table; `needs` are types and inputs."""

    token: str
    inputs: dict[str, Any]
    id: str = ""
    change: dict[str, Any] = field(default_factory=dict)
    needs: tuple[Declared, ...] = ()
    shows: dict[str, Any] = field(default_factory=dict)
    stays: bool = False

    def meet_needs(self, provider: GoogleProvider, virtual: Any) -> None:
        for token, inputs in self.needs:
            provider.create(token, provider.check(token, inputs).inputs, None, virtual)

    def __str__(self) -> str:
        return f"{self.token.rsplit(':', 1)[1]}-{self.id.rsplit('/', 1)[-1]}"


_TABLE = read_yaml(Path(__file__).with_name("lives.yaml").read_text(encoding="utf-8"))


def _life(row: dict[str, Any]) -> Life:
    needs: Any = tuple(tuple(_TABLE["given"][name]) for name in row.get("needs", ()))
    return Life(**{**row, "needs": needs})


LIVES = [_life(row) for row in _TABLE["lives"]]
