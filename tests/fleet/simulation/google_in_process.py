"""The Google calls that controller and broker make, answered in this process by a simulated world.

Stands in the place of `Clients`: answers and refusals are those of the discovery clients, without HTTP. Owns no state;
the world does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import httplib2
from googleapiclient.errors import HttpError

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


Said = Mapping[str, Any]


class GoogleInProcess:
    """Clients of one process."""

    def __init__(self, world: World, process: Process) -> None:
        self.world, self.process, self.project = world, process, world.project

    def api(self, _: object) -> Any:
        return _Method(self, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        """What a process that dies in the middle of a call closes: there is no connection."""


@dataclass(frozen=True, slots=True)
class _Method:
    """A method of an API, or a collection on the way to it."""

    google: GoogleInProcess
    name: str

    def __getattr__(self, name: str) -> _Method:
        return _Method(self.google, f"{self.name.rpartition('.')[2]}.{name}")

    def __call__(self, *page: object, **said: Any) -> Any:
        """A list has one page."""
        return None if page else _Call(self.google, self.name, said) if said else self


@dataclass(frozen=True, slots=True)
class _Call:
    http: GoogleInProcess
    name: str
    said: Said

    def execute(self, num_retries: int = 0) -> Any:
        process = self.http.process
        if self.name in CHANGES:
            return process.change(self._answer)
        process.call()
        return self._answer()

    def _answer(self) -> Any:
        world, said = self.http.world, self.said
        if self.name != "buckets.get":
            world.insist("bucket" if "bucket" in said else (said.get("parent") or said["name"]).split("/")[3])
        return {**ANSWERS, **CHANGES}[self.name](world, said, self.http.process)


def _version(world: World, said: Said, _: Process) -> tuple[int, bytes]:
    """The newest of an object, or the one that is asked for."""
    name, wanted = said["object"], said.get("generation")
    for each in world.versions(name):
        if wanted in (None, str(each[0])):
            return each
    raise refusal(_ABSENT, f"No such object: {name}#{wanted}")


def _objects(world: World, said: Said, _: Process) -> Said:
    names = [name for name in world.objects if name.startswith(said["prefix"])]
    most = None if said.get("versions") else 1
    found = [(name, each[0]) for name in names for each in world.versions(name)[:most]]
    return {"items": [{"name": name, "generation": str(number)} for name, number in found]}


def _write(world: World, said: Said, process: Process) -> Said:
    name, media = said["name"], said["media_body"]
    found = world.objects.get(name)
    if str(found[0] if found else 0) != said["ifGenerationMatch"]:
        raise refusal(_LOST_RACE, "conditionNotMet")
    content = media.getbytes(0, media.size())
    if name.startswith(bucket_names.ORDERS_PREFIX):
        world.promises.before_act(process)
        world.promises.before_order(name.removeprefix(bucket_names.ORDERS_PREFIX).removesuffix(".json"))
    if name == bucket_names.lease_object(world.desired.stack):
        process.holder, process.leased = json.loads(content)["holder"], world.now
    return {"generation": str(world.write(name, content))}


def _node(world: World, said: Said, _: Process) -> Said:
    node = world.tpus.nodes.get(said["name"])
    if node is None:
        raise refusal(_ABSENT, f"Resource '{said['name']}' was not found")
    return node.body


def _create(world: World, said: Said, process: Process) -> Said:
    name = f"{said['parent']}/nodes/{said['nodeId']}"
    if name in world.tpus.nodes:
        raise refusal(_EXISTS, f"Resource '{name}' already exists")
    world.promises.before_act(process)
    world.promises.before_create(process, said["nodeId"])
    return world.tpus.create(name, said["body"])


def _delete(world: World, said: Said, process: Process) -> Said:
    _node(world, said, process)
    world.promises.before_act(process)
    return world.tpus.delete(said["name"])


ANSWERS: Final[Mapping[str, Callable[[World, Said, Process], Any]]] = {
    "buckets.get": lambda world, said, process: {"name": said["bucket"]},
    "objects.get": lambda world, said, process: {
        "generation": str(_version(world, said, process)[0]), "updated": world.written[said["object"]].isoformat(),
    },
    "objects.get_media": lambda world, said, process: _version(world, said, process)[1],
    "objects.list": _objects,
    "nodes.get": _node,
    "nodes.list": lambda world, said, process: {"nodes": world.tpus.listed(said["parent"].rpartition("/")[2])},
    "operations.list": lambda world, said, process: {
        "operations": list(world.tpus.operations.get(said["name"].rpartition("/")[2], {}).values())
    },
}  # fmt: skip
CHANGES: Final[Mapping[str, Callable[[World, Said, Process], Any]]] = {
    "objects.insert": _write, "nodes.create": _create, "nodes.delete": _delete,
}  # fmt: skip
