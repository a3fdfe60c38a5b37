"""The store on Firestore in native mode: a document a key, written under a precondition on its update time.

Names of documents are keys in percent encoding, for a name may have no slash, and some are Firestore's own. Values
stand as JSON text, because a map of Firestore takes no list within a list. FIRESTORE_EMULATOR_HOST leads Google's
client to an emulator.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote, unquote

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.api_core.exceptions import AlreadyExists, FailedPrecondition, GoogleAPIError, NotFound
from google.auth.exceptions import GoogleAuthError
from google.cloud import firestore
from google.cloud.firestore_v1.field_path import FieldPath

from infra.jobs.store.entries import ABSENT, Entry, StoreError, Value, checked_key, decoded, encoded

SECONDS: Final = 10.0
"""How long a call may take, with what Google's client asks again by itself."""
COLLECTION: Final = "tidepool"
_LAST: Final = "\uf8ff"
"""Behind every character of a name in percent encoding."""


class FirestoreStore:
    """One database of a project."""

    def __init__(self, project: str, database: str) -> None:
        try:
            self._client = firestore.Client(project=project, database=database)
        except GoogleAuthError as error:
            raise StoreError(f"{project}/{database}: {error}") from error
        self._all = self._client.collection(COLLECTION)

    def read(self, key: str) -> Entry:
        try:
            found = self._document(key).get(timeout=SECONDS)
        except (GoogleAPIError, GoogleAuthError) as error:
            raise StoreError(f"{key!r}: {error}") from error
        now = found.read_time
        if not found.exists:
            return Entry(value=None, version=ABSENT, age=timedelta(), now=now)
        written = found.update_time
        value = decoded(key, (found.to_dict() or {}).get("value"))
        return Entry(value=value, version=written.rfc3339(), age=max(timedelta(), now - written), now=now)

    def swap(self, key: str, version: str, value: Value | None) -> bool:
        document = self._document(key)
        stands = self._client.write_option(exists=False) if version == ABSENT else self._at(version)
        try:
            if value is None:
                document.delete(option=stands, timeout=SECONDS)
            elif version == ABSENT:
                document.create({"value": encoded(value)}, timeout=SECONDS)
            else:
                document.update({"value": encoded(value)}, option=stands, timeout=SECONDS)
        except (AlreadyExists, FailedPrecondition, NotFound):
            return False
        except (GoogleAPIError, GoogleAuthError) as error:
            raise StoreError(f"{key!r}: {error}") from error
        return True

    def keys(self, prefix: str = "") -> Iterator[str]:
        begin = _name(prefix)
        asked = self._all.order_by(FieldPath.document_id()).select([])
        if begin:
            asked = asked.start_at({FieldPath.document_id(): begin}).end_at({FieldPath.document_id(): begin + _LAST})
        try:
            yield from sorted(unquote(each.id) for each in asked.stream(timeout=SECONDS))
        except (GoogleAPIError, GoogleAuthError) as error:
            raise StoreError(f"listing keys: {error}") from error

    def close(self) -> None:
        self._client.close()

    def _document(self, key: str) -> Any:
        return self._all.document(_name(checked_key(key)))

    def _at(self, version: str) -> Any:
        return self._client.write_option(last_update_time=DatetimeWithNanoseconds.from_rfc3339(version).timestamp_pb())


def _name(key: str) -> str:
    """Of a key's document, or how the names of a prefix's begin. Never `.`, `..` or `__x__`, which Firestore refuses
    (firebase.google.com/docs/firestore/quotas, 2026-11)."""
    name = quote(key, safe="")
    return f"%{ord(name[0]):02X}{name[1:]}" if name.startswith((".", "_")) else name
