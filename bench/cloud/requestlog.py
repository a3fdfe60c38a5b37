"""The request log (what was asked, how it ended, how long it took), and that every request has an answer.

Owns the last requests in memory, a line for each in the daemon's log, and the promise that a client never sees a 500,
which Google's clients retry for twenty minutes: a defect of a handler is answered as 501 and logged with its traceback.
Never sees bodies, queries or headers, so no token or secret can reach it.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass

from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.wire import HttpRequest, Reply

LOGGER = logging.getLogger("tidepool.cloud")
_KEPT = 20_000


@dataclass(slots=True)
class LoggedRequest:
    """number: counts requests since the process began. time: cloud time, epoch seconds. method: discovery id, or empty.

    milliseconds: inside the server, slow-answer faults left out. error: the refusal's message, or empty.
    """

    number: int
    time: float
    verb: str
    path: str
    method: str = ""
    status: int = 0
    milliseconds: float = 0.0
    error: str = ""


class RequestLog:
    def __init__(self) -> None:
        self._entries: deque[LoggedRequest] = deque(maxlen=_KEPT)
        self.count = 0

    def answered(
        self,
        request: HttpRequest,
        now: Callable[[], float],
        work: Callable[[LoggedRequest], Reply],
        refuse: Callable[[ApiError], Reply],
    ) -> Reply:
        """What `work` answers, or a refusal for what it raises. It says the method once it knows it."""
        began, entry = time.perf_counter(), LoggedRequest(self.count + 1, 0.0, request.verb, request.path)
        try:
            reply = work(entry)
        except ApiError as refusal:
            entry.error, reply = refusal.message, refuse(refusal)
        except Exception as defect:  # noqa: BLE001 - the promise of this module
            entry.error, reply = f"{type(defect).__name__}: {defect}", refuse(defect_of(request, defect))
        self.count, entry.time, entry.status = self.count + 1, now(), reply.status
        entry.milliseconds = round((time.perf_counter() - began) * 1000, 3)
        self._entries.append(entry)
        LOGGER.info("%s %s %d %.1f ms %s", entry.verb, entry.path, entry.status, entry.milliseconds, entry.error)
        return reply

    def tail(self, limit: int, *, after: int = 0) -> list[JsonObject]:
        """The last `limit` entries whose number is above `after`, oldest first."""
        return [asdict(entry) for entry in list(self._entries)[-limit:] if entry.number > after]


def defect_of(request: HttpRequest, defect: Exception) -> ApiError:
    """The refusal by which a client reads of a defect, whose traceback is logged."""
    LOGGER.error("%s %s failed", request.verb, request.path, exc_info=defect)
    return ApiError(501, f"The local cloud failed here, which is a defect of it: {type(defect).__name__}: {defect}")
