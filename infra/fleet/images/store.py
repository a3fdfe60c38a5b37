"""The record of images and the pointers of stacks, as objects of fleet buckets.

Owns their reading and their conditional writes. What they say is `infra.model.images.record_documents`; when a pointer
may name a digest is `promotion`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from infra.fleet.google import GoogleError
from infra.fleet.records import Body, Record, WriteResult, encode
from infra.model import bucket_names
from infra.model.images import record_documents as documents

POINTER_VERSION: Final = 1
_CLOSED: Final = 403

Images = Mapping[str, Mapping[str, str]]
"""What VMs pull: a reference by digest, by pool and region."""


class Objects(Protocol):
    """JSON records of one bucket, as `infra.fleet.records.Records` has them."""

    def read(self, name: str, *, most: int | None = None) -> Record | None: ...

    def below(self, prefix: str) -> Iterable[str]: ...

    def put_once(self, name: str, content: bytes, content_type: str) -> WriteResult: ...

    def update(self, name: str, decide: Callable[[Body | None], Body]) -> WriteResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """record: the bucket with the record of images. pointers: each stack's own fleet bucket."""

    record: Objects
    pointers: Mapping[str, Objects]

    def read(self) -> documents.Record:
        """The record of images; the empty one where none was written yet."""
        name = bucket_names.images_record_object()
        try:
            found = self.record.read(name)
        except GoogleError as error:
            if error.status != _CLOSED:
                raise
            begin(self.record)
            found = self.record.read(name)
        return documents.parse(found.body if found else None)

    def update(self, change: Callable[[documents.Record], documents.Record]) -> WriteResult:
        """Write what `change` makes of the record; called again with the newer one when another writer came first."""
        return self.record.update(
            bucket_names.images_record_object(), lambda body: change(documents.parse(body)).to_json()
        )

    def images(self, stack: str) -> Images:
        """What the VMs of a stack are told to pull."""
        found = self.pointers[stack].read(bucket_names.pointer_object())
        return pointed(found.body if found else None)

    def hold(self, stack: str, pool: str) -> None:
        """Before a pool's first image: VMs whose orders leave the image to the pointer shall run none.

        The controller says so from its first sweep on; these are orders that an older one wrote. A VM without orders
        is kept by no controller yet, and what it runs is the pointer's.
        """
        bucket = self.pointers[stack]
        if pool in self.images(stack) or (found := bucket.read(bucket_names.manifest_object(stack))) is None:
            return
        slots: Any = [*(found.body.get("slots") or ()), *(found.body.get("window_slots") or ())]
        for vm in (str(slot["name"]) for slot in slots if slot.get("pool") == pool):
            orders = bucket_names.orders_object(vm)
            if (told := bucket.read(orders)) is not None and not told.body.get("image"):
                bucket.update(orders, lambda body: _imageless(body or {}))

    def point(self, stack: str, pool: str, references: Mapping[str, str]) -> bool:
        """Tell a pool's VMs what to pull, by region; nothing where there are no references. Whether it is news."""
        return (
            self.pointers[stack]
            .update(bucket_names.pointer_object(), lambda body: _with(body, pool, references))
            .changed
        )


def begin(bucket: Objects) -> None:
    """Make the empty record where there is none.

    Builders may read and write it and not list the bucket, and are told 403 of a record that is not there.
    """
    bucket.put_once(bucket_names.images_record_object(), encode(documents.EMPTY.to_json()), "application/json")


def pointed(body: Body | None) -> Images:
    """The images that a pointer names, by pool and region; what is no such thing names none."""
    images: Any = (body or {}).get("images")
    return {
        pool: {region: text for region, text in each.items() if isinstance(text, str)}
        for pool, each in (images.items() if isinstance(images, Mapping) else ())
        if isinstance(each, Mapping)
    }


def _imageless(orders: Body) -> Body:
    return {**orders, "image": orders.get("image") or bucket_names.NO_IMAGE}


def _with(body: Body | None, pool: str, references: Mapping[str, str]) -> Body:
    """The pointer with another image for one pool. VMs that booted with an older bundle read more of it: that stays."""
    images = {**pointed(body), pool: dict(references)}
    rest = {"version": POINTER_VERSION, **(body or {})}
    return {**rest, "images": {name: each for name, each in sorted(images.items()) if each}}
