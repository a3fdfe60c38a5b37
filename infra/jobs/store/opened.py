"""The store that a job's environment names. A server's client is loaded only where that server is named."""

from __future__ import annotations

import os
from typing import Final

from infra.jobs.store.entries import SharedStore, StoreError

VARIABLE: Final = "TIDEPOOL_STORE"
"""`redis://HOST:PORT` or `firestore://PROJECT/DATABASE`; set in pods of a cluster whose stack has `tidepool:store`."""


def open_store(url: str | None = None) -> SharedStore:
    """url: as in TIDEPOOL_STORE, which is read where none is given. StoreError where none is named, or no client is."""
    named = url or os.environ.get(VARIABLE, "")
    scheme, _, rest = named.partition("://")
    try:
        if scheme in ("redis", "rediss"):
            from infra.jobs.store.by_redis import RedisStore

            return RedisStore(named)
        if scheme == "firestore" and rest.count("/") == 1 and all(rest.split("/")):
            from infra.jobs.store.by_firestore import FirestoreStore

            return FirestoreStore(*rest.split("/"))
    except ImportError as error:
        raise StoreError(
            f"the client of {scheme} is not installed ({error}); install redis or google-cloud-firestore"
        ) from None
    except ValueError:  # a port that is not a number
        pass
    # The address is not repeated: it may hold a password.
    what = "the address names no store" if named else f"{VARIABLE} is not set"
    raise StoreError(f"{what}: redis://HOST:PORT or firestore://PROJECT/DATABASE")
