"""A small provider over a cloud in memory, and the resource classes that a program of these tests declares.

`fake:index:Vm` has a fixed name, so a replacement must delete first; `fake:index:Net` gets a generated name, so a
replacement creates first. `size` and `net` force replacement, `labels` and `token` change in place.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from bench.engine.provider import (
    Cancel,
    CheckFailure,
    CheckResult,
    Created,
    DiffResult,
    PropertyDiff,
    ProviderError,
    ReadResult,
)

VM, NET = "fake:index:Vm", "fake:index:Net"
KEYS = ("size", "net")


class Cloud:
    """What exists, and every request in order. `before` may raise ahead of a request taking effect, `after` behind."""

    def __init__(self) -> None:
        self.things: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.failing: dict[str, str] = {}
        self.before: Callable[[str, str], None] = lambda verb, id_: None
        self.after: Callable[[str, str], None] = lambda verb, id_: None
        self._lock = threading.Lock()

    def request(self, verb: str, id_: str, change: Callable[[], object]) -> None:
        with self._lock:
            self.requests.append((verb, id_))
        if f"{verb} {id_}" in self.failing:
            raise ProviderError(self.failing[f"{verb} {id_}"])
        self.before(verb, id_)
        with self._lock:
            change()
        self.after(verb, id_)

    def verbs(self, *wanted: str) -> list[str]:
        return [f"{verb} {id_}" for verb, id_ in self.requests if verb in wanted]


class FakeProvider:
    package = "fake"
    version = "1.0.0"

    def __init__(self, cloud: Cloud, config: Mapping[str, Any] | None = None) -> None:
        self.cloud = cloud
        self.config = dict(config or {})

    def configured(self, config: Mapping[str, Any], /) -> FakeProvider:
        return FakeProvider(self.cloud, config)

    def types(self) -> frozenset[str]:
        return frozenset({VM, NET})

    def check(self, token: str, inputs: dict[str, Any], /) -> CheckResult:
        failures = []
        if inputs.get("size") == "wrong":
            failures.append(CheckFailure("size", "must not be 'wrong'"))
        if token == NET and "name" not in inputs:
            seed = hashlib.sha256(f"{[inputs.get(key) for key in KEYS]}".encode()).hexdigest()[:6]
            inputs = inputs | {"name": f"{inputs['called']}-{seed}"}
        return CheckResult({"size": "small", **inputs}, tuple(failures))

    def diff(
        self,
        token: str,
        id_: str,
        old_inputs: dict[str, Any],
        old_outputs: dict[str, Any],
        new_inputs: dict[str, Any],
        /,
    ) -> DiffResult:
        found = {}
        for key in {*old_inputs, *new_inputs}:
            if old_inputs.get(key) != new_inputs.get(key):
                kind = "add" if key not in old_inputs else "delete" if key not in new_inputs else "update"
                found[key] = PropertyDiff(kind, replaces=key in KEYS or key == "name")
        return DiffResult(found, delete_before_replace=token == VM)

    def locate(self, token: str, inputs: dict[str, Any], /) -> str | None:
        return f"{token.rpartition(':')[2].lower()}/{inputs['name']}"

    def create(self, token: str, inputs: dict[str, Any], timeout: float | None, cancel: Cancel, /) -> Created:
        id_ = self.locate(token, inputs)
        assert id_ is not None
        if id_ in self.cloud.things:
            raise ProviderError(f"409 {id_} exists")
        self.cloud.request("create", id_, lambda: self.cloud.things.__setitem__(id_, dict(inputs)))
        return Created(id_, self._outputs(id_, inputs))

    def read(self, token: str, id_: str, inputs: dict[str, Any], /) -> ReadResult | None:
        if "name" not in inputs:
            raise ProviderError("a read knows what was declared")
        self.cloud.requests.append(("read", id_))
        thing = self.cloud.things.get(id_)
        return None if thing is None else ReadResult(id_, dict(thing), self._outputs(id_, thing))

    def update(
        self,
        token: str,
        id_: str,
        old_outputs: dict[str, Any],
        new_inputs: dict[str, Any],
        cancel: Cancel,
        /,
    ) -> dict[str, Any]:
        assert old_outputs["link"] == f"https://fake/{id_}"
        self.cloud.request("update", id_, lambda: self.cloud.things.__setitem__(id_, dict(new_inputs)))
        return self._outputs(id_, new_inputs)

    def delete(self, token: str, id_: str, outputs: dict[str, Any], cancel: Cancel, /) -> None:
        self.cloud.request("delete", id_, lambda: self.cloud.things.pop(id_, None))

    def preview_outputs(
        self, token: str, inputs: dict[str, Any], old_outputs: dict[str, Any] | None, /
    ) -> dict[str, Any]:
        return dict(inputs) | ({} if old_outputs is None else {"link": old_outputs["link"]})

    def secret_outputs(self, token: str, /) -> frozenset[str]:
        return frozenset({"password"})

    @staticmethod
    def _outputs(id_: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {**inputs, "link": f"https://fake/{id_}", "password": f"pw-{id_}"}


class Vm(pulumi.CustomResource):
    link: pulumi.Output[str]

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None, **props: Any) -> None:
        merged = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(version="1.0.0"))
        super().__init__(VM, name, {"name": name, "link": None, "password": None, **props}, merged)


class Net(pulumi.CustomResource):
    link: pulumi.Output[str]
    name: pulumi.Output[str]

    def __init__(
        self, name: str, opts: pulumi.ResourceOptions | None = None, *, fixed: str | None = None, **props: Any
    ) -> None:
        merged = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(version="1.0.0"))
        super().__init__(NET, name, {"name": fixed, "called": name, "link": None, "password": None, **props}, merged)


class Group(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:test:Group", name, None, opts)
