"""The embedded engine's Google provider: one table of types, mapped to the REST calls of Google Cloud.

Owns what the official provider does for the types that the program uses: checks, differences, calls, waits and
outputs, so that a state written by one is understood by the other. Knows nothing of the local cloud but its root URL.
"""

from __future__ import annotations

from infra.local.provider.google import GoogleProvider

__all__ = ["GoogleProvider"]
