"""How a Kubernetes API says no: a `Status` object, with the reasons that clients decide by.

Source: the Kubernetes API conventions, "Response Status Kind", read 2026-11.
"""

from __future__ import annotations

from http import HTTPStatus

from bench.cloud.errors import ApiError, JsonObject


class StatusError(ApiError):
    """A refusal. reason: for programs, where the code has several."""

    def __init__(self, code: int, message: str, *, reason: str = "") -> None:
        super().__init__(code, message)
        self._reason = reason

    def to_json(self) -> JsonObject:
        reason = self._reason or HTTPStatus(self.code).phrase.replace(" ", "")
        told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        return {**told, "message": self.message, "reason": reason, "code": self.code}


def bad_request(message: str) -> StatusError:
    return StatusError(400, message)


def invalid(resource: str, name: str, faults: list[str]) -> StatusError:
    """The refusal of an object by its fields. faults: `FIELD: what is wrong`."""
    return StatusError(422, f'{resource} "{name}" is invalid: {", ".join(faults)}', reason="Invalid")


def missing(resource: str, name: str) -> StatusError:
    return StatusError(404, f'{resource} "{name}" not found')


def conflict(resource: str, name: str, said: str) -> StatusError:
    """The refusal of a change that is of another version or object than the one that exists."""
    return StatusError(409, f'{resource} "{name}": {said}')
