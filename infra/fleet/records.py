"""JSON records and bundles in the fleet bucket, each write conditional on what was read.

Owns the optimistic concurrency: a write carries the generation it builds on, and one that lost a race reads again and
decides again. Owns too what stands in for a record that its reader does not understand: the newest version that can be
read (`Records.newest`), while the other is kept (`Records.set_aside`). Leaves what a record means to its writer, and
object names to `infra.model.bucket_names`. The bucket itself is the program's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, TypeAlias, TypeVar

from googleapiclient.http import MediaInMemoryUpload
from pydantic_core import from_json

from infra.fleet.google import Api, Clients, GoogleError, answers, execute
from infra.model import bucket_names

ATTEMPTS: Final = 8
"""Rounds of read, decide, write before giving up; each lost round means that another writer got through."""

ABSENT: Final = 0
"""The generation of an object that does not exist, as Cloud Storage preconditions have it."""

_GONE: Final = 404
_RACE_LOST: Final = 412

JSON: Final = "application/json"
"""The type of a record's content."""

Body: TypeAlias = Mapping[str, Any]
T = TypeVar("T")


class UnreadableRecordError(GoogleError):
    """An object that is there and is no record: no JSON object, or larger than its reader takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it was read. updated: when it was written, by the service's clock. content: what body was made of."""

    body: dict[str, Any]
    generation: int
    updated: datetime
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest(Generic[T]):
    """The newest version of a record that its reader understands.

    value: None where no version can be read, or none exists. generation: of the object as it is now, which the next
    write replaces. content: of that generation. unreadable: why that one cannot be read, empty where it can; fix: the
    command that ends this.
    """

    value: T | None = None
    generation: int = ABSENT
    content: bytes = field(default=b"", repr=False)
    unreadable: str = ""
    fix: str = ""

    @property
    def why(self) -> str:
        """Why it cannot be read and how that ends."""
        return f"{self.unreadable}. Fix: {self.fix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What a write came to: the object's generation now, and whether this write made it."""

    generation: int
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of one fleet bucket. Every method raises GoogleError where the bucket refuses or does not answer."""

    google: Clients
    bucket: str

    def read(self, name: str, *, most: int | None = None) -> Record | None:
        """The record, None where there is none. Its body and generation belong together.

        most: the largest in bytes that is read, for one whose writer is not trusted.
        """
        found = self.live(name, most)
        if found is None:
            return None
        generation, updated, content = found
        return Record(body=self._body(name, content), generation=generation, updated=updated, content=content)

    def newest(self, name: str, parse: Callable[[Body], T]) -> Newest[T]:
        """The newest version of a record that `parse` reads, which raises ValueError for others.

        Who uses it may list the bucket.
        """
        found = self.live(name)
        if found is None:
            return Newest()
        generation, _, content = found
        try:
            return Newest(value=parse(self._body(name, content)), generation=generation, content=content)
        except (UnreadableRecordError, ValueError) as error:
            why = error.reason if isinstance(error, UnreadableRecordError) else str(error)
        value, fix = None, f"gcloud storage rm {self._url(name)}"
        for before in self._generations(name, generation):
            try:
                value = parse(self._body(name, self._content(name, before) or b""))
            except (UnreadableRecordError, ValueError):
                continue
            fix = f"gcloud storage cp '{self._url(name)}#{before}' {self._url(name)}"
            break
        return Newest(value=value, generation=generation, content=content, unreadable=why, fix=fix)

    def set_aside(self, name: str, generation: int, content: bytes) -> None:
        """Keep what cannot be read under another name, before its object is written over. Raises GoogleError."""
        self.put_once(bucket_names.unreadable_object(name, generation), content, "application/octet-stream")

    def body(self, name: str) -> Body | None:
        """What the record says, None where there is none."""
        record = self.read(name)
        return None if record is None else record.body

    def content(self, name: str) -> bytes | None:
        """What stands there now, of any generation and of any shape, by one request; None where there is nothing."""
        request = self.google.api(Api.STORAGE).objects().get_media(bucket=self.bucket, object=name)
        try:
            return execute(request, f"reading {self._url(name)}")
        except GoogleError as error:
            if error.status != _GONE:
                raise
            self._insist_on_bucket()
            return None

    def contents(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """That of many objects of a bucket that is there, in their order and several at a time."""
        objects = self.google.api(Api.STORAGE).objects()
        asked = [(objects.get_media(bucket=self.bucket, object=name), f"reading {self._url(name)}") for name in names]
        yield from answers(asked, missing=(_GONE,))

    def below(self, prefix: str) -> Iterator[str]:
        """The names of the objects below a prefix, for who may list the bucket."""
        objects = self.google.api(Api.STORAGE).objects()
        request = objects.list(bucket=self.bucket, prefix=prefix, fields="items(name),nextPageToken")
        while request is not None:
            answer = execute(request, f"listing {self._url(prefix)}")
            yield from (each["name"] for each in answer.get("items", ()))
            request = objects.list_next(request, answer)

    def generation(self, name: str) -> int:
        """Which generation of the record stands; ABSENT where there is none."""
        found = self._look_up(name)
        return ABSENT if found is None else int(found["generation"])

    def update(self, name: str, decide: Callable[[Body | None], Body], *, mends: bool = False) -> WriteResult:
        """Replace the record by what `decide` makes of the present one; a record that stays as it is is not written.

        `decide` is called again with the newer record when another writer came first. mends: whether one that cannot be
        read is set aside and replaced by what `decide` makes of the newest one before it that can.
        """
        for _ in range(ATTEMPTS):
            current = self.newest(name, dict) if mends else self._present(name)
            if current.unreadable:
                self.set_aside(name, current.generation, current.content)
            body = decide(current.value)
            same = body == current.value and not current.unreadable
            content = current.content if same else encode(body)
            if content == current.content:
                return WriteResult(generation=current.generation, changed=False)
            generation = self.replace_content(name, content, JSON, generation=current.generation)
            if generation is not None:
                return WriteResult(generation=generation, changed=True)
        raise self._crowded(name)

    def update_content(self, name: str, decide: Callable[[bytes | None], bytes], content_type: str) -> WriteResult:
        """As `update`, for an object of any shape."""
        for _ in range(ATTEMPTS):
            generation = self.generation(name)
            current = None if generation == ABSENT else self._content(name, generation)
            if generation != ABSENT and current is None:
                continue  # another writer came between
            wanted = decide(current)
            if wanted == current:
                return WriteResult(generation=generation, changed=False)
            made = self.replace_content(name, wanted, content_type, generation=generation)
            if made is not None:
                return WriteResult(generation=made, changed=True)
        raise self._crowded(name)

    def replace(self, name: str, body: Body, *, generation: int) -> int | None:
        """Write where that generation still stands; the new one, None where another writer came first or it is gone."""
        return self.replace_content(name, encode(body), JSON, generation=generation)

    def put_once(self, name: str, content: bytes, content_type: str) -> WriteResult:
        """Write an object that is not there; one that is there is left alone.

        Nothing is looked up first: who may write below a prefix and not list the bucket is told 403, and not 404, of an
        object that is not there.
        """
        made = self.replace_content(name, content, content_type, generation=ABSENT)
        if made is not None:
            return WriteResult(generation=made, changed=True)
        return WriteResult(generation=self.generation(name), changed=False)

    def _present(self, name: str) -> Newest[dict[str, Any]]:
        record = self.read(name)
        if record is None:
            return Newest()
        return Newest(value=record.body, generation=record.generation, content=record.content)

    def live(self, name: str, most: int | None = None) -> tuple[int, datetime, bytes] | None:
        """Generation, time of writing and content of an object, which belong together; None where there is none."""
        for _ in range(ATTEMPTS):
            found = self._look_up(name)
            if found is None:
                return None
            if most is not None and int(found.get("size", 0)) > most:
                raise UnreadableRecordError(f"reading {self._url(name)}", f"it has more than {most} bytes")
            generation = int(found["generation"])
            content = self._content(name, generation)
            if content is not None:
                return generation, datetime.fromisoformat(found["updated"]), content
        raise self._crowded(name)

    def _generations(self, name: str, before: int) -> list[int]:
        """The generations of an object that were replaced before this one and are kept, the newest first."""
        objects = self.google.api(Api.STORAGE).objects()
        fields = "items(name,generation),nextPageToken"
        request = objects.list(bucket=self.bucket, prefix=name, versions=True, fields=fields)
        found: list[int] = []
        while request is not None:
            answer = execute(request, f"listing versions of {self._url(name)}")
            found += [int(each["generation"]) for each in answer.get("items", ()) if each["name"] == name]
            request = objects.list_next(request, answer)
        return sorted((each for each in found if each < before), reverse=True)

    def _look_up(self, name: str) -> dict[str, Any] | None:
        fields = "generation,size,updated"
        request = self.google.api(Api.STORAGE).objects().get(bucket=self.bucket, object=name, fields=fields)
        try:
            return execute(request, f"looking up {self._url(name)}")
        except GoogleError as error:
            if error.status != _GONE:
                raise
            self._insist_on_bucket()
            return None

    def _insist_on_bucket(self) -> None:
        """A missing bucket and a missing object are both a 404; only in a bucket that is there is an object absent."""
        request = self.google.api(Api.STORAGE).buckets().get(bucket=self.bucket, fields="name")
        execute(request, f"looking up gs://{self.bucket}")

    def _content(self, name: str, generation: int) -> bytes | None:
        """The record at one generation, None where that generation is gone by now."""
        objects = self.google.api(Api.STORAGE).objects()
        request = objects.get_media(bucket=self.bucket, object=name, generation=str(generation))
        try:
            return execute(request, f"reading {self._url(name)}")
        except GoogleError as error:
            if error.status == _GONE:
                return None
            raise

    def _body(self, name: str, content: bytes) -> dict[str, Any]:
        try:
            # Of the manifest of a large fleet json.loads makes a copy first, and texts anew that stand in it often.
            body = from_json(content)
        except ValueError as error:
            raise UnreadableRecordError(f"reading {self._url(name)}", f"it is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise UnreadableRecordError(f"reading {self._url(name)}", "it is not a JSON object")
        return body

    def replace_content(self, name: str, content: bytes, content_type: str, *, generation: int) -> int | None:
        """As `replace`, for an object of any shape."""
        request = (
            self.google.api(Api.STORAGE)
            .objects()
            .insert(
                bucket=self.bucket,
                name=name,
                ifGenerationMatch=str(generation),
                media_body=MediaInMemoryUpload(content, mimetype=content_type),
            )
        )
        try:
            return int(execute(request, f"writing {self._url(name)}")["generation"])
        except GoogleError as error:
            if error.status == _RACE_LOST:
                return None
            raise

    def _url(self, name: str) -> str:
        return f"gs://{self.bucket}/{name}"

    def _crowded(self, name: str) -> GoogleError:
        return GoogleError(
            f"writing {self._url(name)}", f"other writers changed it {ATTEMPTS} times in a row; run the command again"
        )


def encode(body: Body) -> bytes:
    """JSON as the bucket keeps it: sorted, indented, one newline at the end, so that two versions can be compared."""
    return (json.dumps(body, indent=2, sort_keys=True) + "\n").encode()
