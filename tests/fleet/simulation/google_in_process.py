"""The Google calls that controller and broker make, answered in this process by a simulated world.

Stands in the place of `Clients`: the same methods, arguments, answers and refusals as the discovery clients have, and
no HTTP. Owns no state; the world does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import httplib2
from googleapiclient.errors import HttpError

from infra.fleet.google import Api
from infra.model import bucket_names

if TYPE_CHECKING:
    from tests.fleet.simulation.simulated_world import World

_ABSENT, _EXISTS, _LOST_RACE = 404, 409, 412


class Died(BaseException):
    """The process is gone at this very call; nothing that it would do later happens."""


@dataclass(slots=True)
class Process:
    """One run of a program.

    dies_at: the changing call at which it ends, after doing it where `after`. dies_before: the call of any kind before
        which it ends.
    before_each: what happens elsewhere before a call of that number.
    holder, leased: as whom it took the lease of its stack, and when last.
    """

    dies_at: int | None = None
    after: bool = False
    dies_before: int | None = None
    before_each: Callable[[int], None] | None = None
    calls: int = 0
    changes: int = 0
    dead: bool = False
    holder: str = ""
    leased: float = 0.0

    def call(self) -> None:
        if self.dead:
            raise Died
        self.calls += 1
        if self.before_each is not None:
            self.before_each(self.calls)
        if self.calls == self.dies_before:
            self.dead = True
            raise Died

    def change(self, do: Callable[[], Any]) -> Any:
        """Do one changing call, unless the process ends here."""
        self.call()
        self.changes += 1
        self.dead = self.dies_at == self.changes
        if self.dead and not self.after:
            raise Died
        answer = do()
        if self.dead:
            raise Died
        return answer


def refusal(status: int, message: str) -> HttpError:
    body = json.dumps({"error": {"code": status, "message": message}}).encode()
    return HttpError(httplib2.Response({"status": str(status), "content-type": "application/json"}), body)


@dataclass(frozen=True, slots=True)
class _Call:
    run: Callable[[], Any]

    @property
    def http(self) -> Self:
        """What a process that dies in the middle of a call closes."""
        return self

    def close(self) -> None:
        """There is no connection."""

    def execute(self, num_retries: int = 0) -> Any:
        return self.run()


class GoogleInProcess:
    """Clients of one process."""

    def __init__(self, world: World, process: Process) -> None:
        self.world = world
        self.project = world.project
        storage = SimpleNamespace(objects=lambda: _Objects(world, process), buckets=lambda: _Buckets(process))
        places = SimpleNamespace(nodes=lambda: _Nodes(world, process), operations=lambda: _Operations(world, process))
        tpu = SimpleNamespace(projects=lambda: SimpleNamespace(locations=lambda: places))
        self._apis = {Api.STORAGE: storage, Api.TPU: tpu}

    def api(self, api: Api) -> Any:
        return self._apis[api]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Objects:
    world: World
    process: Process

    def get(self, *, bucket: str, object: str, fields: str) -> _Call:  # noqa: A002 - the API's own name
        def run() -> dict[str, str]:
            self._answers()
            found = self.world.objects.get(object)
            if found is None:
                raise refusal(_ABSENT, f"No such object: {object}")
            return {"generation": str(found[0]), "updated": self.world.written[object].isoformat()}

        return _Call(run)

    def get_media(self, *, bucket: str, object: str, generation: str) -> _Call:  # noqa: A002 - the API's own name
        def run() -> bytes:
            self._answers()
            found = next((each for each in self.world.versions(object) if str(each[0]) == generation), None)
            if found is None:
                raise refusal(_ABSENT, f"No such object: {object}#{generation}")
            return found[1]

        return _Call(run)

    def list(self, *, bucket: str, prefix: str, fields: str, versions: bool = False) -> _Call:
        def run() -> dict[str, Any]:
            self._answers()
            names = [name for name in self.world.objects if name.startswith(prefix)]
            found = [(name, each[0]) for name in names for each in self.world.versions(name)[: None if versions else 1]]
            return {"items": [{"name": name, "generation": str(number)} for name, number in found]}

        return _Call(run)

    def list_next(self, request: _Call, answer: dict[str, Any]) -> None:
        return None

    def insert(self, *, bucket: str, name: str, ifGenerationMatch: str, media_body: Any) -> _Call:  # noqa: N803 - theirs
        def do() -> dict[str, str]:
            self.world.insist("bucket")
            found = self.world.objects.get(name)
            if str(found[0] if found else 0) != ifGenerationMatch:
                raise refusal(_LOST_RACE, "conditionNotMet")
            content = media_body.getbytes(0, media_body.size())
            if name.startswith(bucket_names.ORDERS_PREFIX):
                self.world.promises.before_act(self.process)
                self.world.promises.before_order(name.removeprefix(bucket_names.ORDERS_PREFIX).removesuffix(".json"))
            if name == bucket_names.lease_object(self.world.desired.stack):
                self.process.holder, self.process.leased = json.loads(content)["holder"], self.world.now
            return {"generation": str(self.world.write(name, content))}

        return _Call(lambda: self.process.change(do))

    def _answers(self) -> None:
        self.process.call()
        self.world.insist("bucket")


@dataclass(frozen=True, slots=True)
class _Buckets:
    process: Process

    def get(self, *, bucket: str, fields: str) -> _Call:
        def run() -> dict[str, str]:
            self.process.call()
            return {"name": bucket}

        return _Call(run)


@dataclass(frozen=True, slots=True)
class _Nodes:
    world: World
    process: Process

    def list(self, *, parent: str, **_: object) -> _Call:
        def run() -> dict[str, Any]:
            self.process.call()
            return {"nodes": self.world.tpus.listed(parent.rpartition("/")[2])}

        return _Call(run)

    def list_next(self, request: _Call, answer: dict[str, Any]) -> None:
        return None

    def get(self, *, name: str) -> _Call:
        def run() -> dict[str, Any]:
            self.process.call()
            self.world.insist(_zone(name))
            node = self.world.tpus.nodes.get(name)
            if node is None:
                raise refusal(_ABSENT, f"Resource '{name}' was not found")
            return node.body

        return _Call(run)

    def create(self, *, parent: str, nodeId: str, body: dict[str, Any]) -> _Call:  # noqa: N803 - theirs
        def do() -> dict[str, Any]:
            self.world.insist(parent.rpartition("/")[2])
            name = f"{parent}/nodes/{nodeId}"
            if name in self.world.tpus.nodes:
                raise refusal(_EXISTS, f"Resource '{name}' already exists")
            self.world.promises.before_act(self.process)
            self.world.promises.before_create(self.process, nodeId)
            return self.world.tpus.create(name, body)

        return _Call(lambda: self.process.change(do))

    def delete(self, *, name: str) -> _Call:
        def do() -> dict[str, Any]:
            self.world.insist(_zone(name))
            if name not in self.world.tpus.nodes:
                raise refusal(_ABSENT, f"Resource '{name}' was not found")
            self.world.promises.before_act(self.process)
            return self.world.tpus.delete(name)

        return _Call(lambda: self.process.change(do))


@dataclass(frozen=True, slots=True)
class _Operations:
    world: World
    process: Process

    def list(self, *, name: str, **_: object) -> _Call:
        def run() -> dict[str, Any]:
            self.process.call()
            zone = name.rpartition("/")[2]
            self.world.insist(zone)
            return {"operations": list(self.world.tpus.operations.get(zone, {}).values())}

        return _Call(run)

    def list_next(self, request: _Call, answer: dict[str, Any]) -> None:
        return None


def _zone(name: str) -> str:
    return name.split("/")[3]
