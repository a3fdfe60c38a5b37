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
_PAYLOADS: Final = ("textPayload", "jsonPayload", "protoPayload")
_DEFAULT_SIZE: Final = 50


@handles("logging.entries.write")
def write_entries(call: ApiCall) -> JsonObject:
    """All of a call, or none: what a request says once is said of each entry that lacks it."""
    entries = [_whole(call, at, sent) for at, sent in enumerate(call.body.get("entries", ()))]
    if not entries:
        raise invalid("A request has at least one entry.", field="entries")
    for entry in () if call.body.get("dryRun") else entries:
        # Entries of one log with the same time and insertId are one, and the last counts.
        name = f"{entry['logName']}/{entry['timestamp']}/{entry['insertId']}"
        call.cloud.store.put(_KIND, name, entry, now=call.cloud.now)
    return {}


def _whole(call: ApiCall, at: int, sent: JsonObject) -> JsonObject:
    common, now = call.body, timestamp(call.cloud.now)
    where = {key: sent.get(key) or common.get(key) for key in ("logName", "resource")}
    for key in (key for key, value in where.items() if not value):
        raise invalid(f"An entry needs {key}, of its own or of the request.", field=f"entries[{at}].{key}")
    if sum(key in sent for key in _PAYLOADS) > 1:
        raise invalid("An entry has one payload.", field=f"entries[{at}]")
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
    whose = call.body.get("resourceNames")
    if not whose:
        raise invalid("A list names the resources whose entries it has.", field="resourceNames")
    order = call.body.get("orderBy")
    if order not in (None, "", "timestamp", "timestamp asc", "timestamp desc"):
        raise invalid(f"Invalid order '{order}': entries are ordered by timestamp.", field="orderBy")
    logs = tuple(f"{each}/logs/" for each in whose)
    found = [held.body for held in call.cloud.store.each(_KIND) if held.body["logName"].startswith(logs)]
    found.sort(key=lambda entry: seconds_of(entry["timestamp"]))
    asked = replace(call, params=call.body)
    return page(asked, "entries", found, identity="insertId", default_size=_DEFAULT_SIZE)
