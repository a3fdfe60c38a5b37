"""The embedded engine's Google provider: one table of types, mapped to the REST calls of Google Cloud.

Owns what the official provider does for the types that the program uses: checks, differences, calls, waits and
outputs, so that a state written by one is understood by the other. Knows nothing of the local cloud but its root URL.

Where it parts from the official provider, on purpose:
- Operations are asked for after 50 ms rather than 10 s, and retries begin after 100 ms, since the local cloud's delays
  are compressed. A URL at which nothing listens is given up after 15 s.
- A 429 that says a quota or a reservation is used up fails at once; the official one asks for up to twenty minutes.
  A rate that is limited (per minute) and a busy service are asked again, until the first Ctrl-C.
- A create whose answer was lost and which then meets a conflict is taken for its own; the official one fails.
- A create that outlives its timeout stays in the state; the official one forgets it and meets a conflict next time.
- A VM that is being made or deleted is read once it is known what becomes of it.
- A missing project or zone is found before any call. APIs are enabled one by one rather than in batches.
- Inputs that the table does not have are refused by name; values are not judged, and no name is made up.
- A destroy leaves APIs enabled and buckets that hold objects, whatever the program says.
- Lists that are sets stand in the state as the service orders them, not by their hash; both providers compare them as
  sets.
"""

from __future__ import annotations

from bench.providers.google.provider import GoogleProvider

__all__ = ["GoogleProvider"]
