"""The calls of a type that is an ordinary REST resource: POST to a collection, GET, PATCH and DELETE of an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from infra.local.provider.fields import Field
from infra.local.provider.operations import Wait, poll, wait
from infra.local.provider.resource import Call, Path
from infra.local.provider.transport import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """An ordinary resource.

    base: the API's path, version included. collection, item: below it. query: what a create says there, by hole.
    create_wait, update_wait, delete_wait: how these calls end.
    masks: what the mask says of a changed part, where that is not the part's own name.
    masked: an update carries `updateMask` and the masked parts alone; else the changed parts without a mask.
    whole: an update carries everything, without a mask. carried: what every update carries, whatever changed.
    settling: whether a body shows a resource on its way to another state, which a read waits for.
    gone: whether a body shows what was deleted and is only kept for a while.
    """

    base: str
    collection: Path
    item: Path
    fields: Mapping[str, Field]
    query: Mapping[str, Path] = field(default_factory=dict)
    create_wait: Wait = Wait.NONE
    update_wait: Wait = Wait.NONE
    delete_wait: Wait = Wait.NONE
    masks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    masked: bool = True
    whole: bool = False
    carried: tuple[str, ...] = ()
    settling: Callable[[Mapping[str, Any]], bool] | None = None
    gone: Callable[[Mapping[str, Any]], bool] = lambda _: False

    def create(self, call: Call) -> None:
        query = {name: path.fill(call.values) for name, path in self.query.items()}
        path = f"{self.base}/{self.collection.fill(call.values)}"
        try:
            answer = call.send("POST", path, query=query, body=call.body)
        except ApiError as error:
            if not (error.doubtful and error.code == HTTPStatus.CONFLICT):
                raise
            return
        wait(call.api, self.create_wait, self.base, answer, call.deadline)

    def read(self, call: Call) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None

        def settled() -> bool:
            nonlocal found
            found = call.find(self.path(call))
            return found is None or self.settling is None or not self.settling(found)

        if not settled():
            poll(call.deadline, settled)
        return None if found is None or self.gone(found) else found

    def update(self, call: Call) -> None:
        paths = self.changed_paths(call)
        if not paths:
            return
        tops = {path.split(".")[0] for path in paths} | {*self.carried}
        body = {top: value for top, value in call.body.items() if self.whole or top in tops}
        body |= {name: self.fields[name].zero for name in self.carried if name not in body}
        mask = (name for path in paths for name in self.masks.get(path, (path,)))
        query = {"updateMask": ",".join(mask)} if self.masked and not self.whole else None
        answer = call.send("PATCH", self.path(call), query=query, body=body)
        wait(call.api, self.update_wait, self.base, answer, call.deadline)

    def delete(self, call: Call) -> None:
        answer = call.send("DELETE", self.path(call))
        wait(call.api, self.delete_wait, self.base, answer, call.deadline)

    def changed_paths(self, call: Call) -> list[str]:
        """Where in the body the changed properties stand; those that only the provider knows stand nowhere."""
        changed = ((name, self.fields[name]) for name in call.changed)
        return sorted(field.wire or name for name, field in changed if not field.local)

    def path(self, call: Call) -> str:
        return f"{self.base}/{self.item.fill(call.values)}"
