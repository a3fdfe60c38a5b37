"""Cloud Logging's entries: what clients write is kept and listed. Nothing else writes any, so guests have no console.

Owns which entries a list has, and their order. Metrics are `monitoring`'s; they count none of these.
Source: cloud.google.com/logging/docs/reference/v2/rest/v2/entries and its LogEntry, read 2026-11.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bench.cloud.clock import seconds_of, timestamp
from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services.listings import page

_KIND: Final = "logging.entry"


@handles("logging.entries.write")
def write_entries(call: ApiCall) -> JsonObject:
    """All of a call, or none: what a request says once is said of each entry that lacks it."""
    for entry in [_whole(call, sent) for sent in call.body.get("entries", ())]:
        # Entries of one log with the same time and insertId are one, and the last counts.
        name = f"{entry['logName']}/{entry['timestamp']}/{entry['insertId']}"
        call.cloud.store.put(_KIND, name, entry, now=call.cloud.now)
    return {}


def _whole(call: ApiCall, sent: JsonObject) -> JsonObject:
    common, now = call.body, timestamp(call.cloud.now)
    where = {key: sent.get(key) or common.get(key) for key in ("logName", "resource")}
    if not all(where.values()):
        raise invalid("An entry needs logName and resource, of its own or of the request.", field="entries")
    return {
        "timestamp": now,
        "insertId": f"{call.cloud.store.next_number(_KIND):012d}",
        **sent,
        **where,
        "labels": {**common.get("labels", {}), **sent.get("labels", {})},
        "receiveTimestamp": now,
    }


@handles("logging.entries.list")
def list_entries(call: ApiCall) -> JsonObject:
    """The oldest first where no order is asked for."""
    logs = tuple(f"{each}/logs/" for each in call.body.get("resourceNames", ()))
    found = [held.body for held in call.cloud.store.each(_KIND) if held.body["logName"].startswith(logs)]
    newest_first = call.body.get("orderBy", "").endswith(" desc")
    found.sort(key=lambda entry: seconds_of(entry["timestamp"]), reverse=newest_first)
    return page(replace(call, params=call.body), "entries", found, identity="insertId")
