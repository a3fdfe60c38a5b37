"""How a Kubernetes API says no: a `Status` object, with the reasons that clients decide by.

Source: the Kubernetes API conventions, "Response Status Kind", read 2026-11.
"""

from __future__ import annotations

from bench.cloud.errors import ApiError, JsonObject

_REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 409: "Conflict",
    410: "Expired", 415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError",
    503: "ServiceUnavailable",
}  # fmt: skip


class StatusError(ApiError):
    """A refusal. about: group, kind and name of what it is of."""

    def __init__(self, code: int, message: str, *, reason: str | None = None, about: JsonObject | None = None) -> None:
        super().__init__(code, message)
        self.reason = _REASONS.get(code, "Unknown") if reason is None else reason
        self._about = about

    def to_json(self) -> JsonObject:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({"details": self._about} if self._about else {}),
            "code": self.code,
        }


def bad_request(message: str) -> StatusError:
    return StatusError(400, message)
