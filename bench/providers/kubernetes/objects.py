"""One object of a cluster, as the provider writes it: found, applied, released and deleted.

Owns server-side apply with its manager and its conflicts, what is tried again because its kind or its namespace is only
just being made, and the wait until an object is gone. Leaves what is applied to `provider`, and the calls to `reach`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from bench.engine.provider import Cancel, CancelledError, ProviderError
from bench.providers.kubernetes import manifests
from bench.providers.kubernetes.manifests import ObjectName
from bench.providers.kubernetes.reach import ApiRefusedError, ClusterApi

JsonObject = dict[str, Any]

_ATTEMPTS: Final = 5
_PAUSE: Final = 0.2
"""Seconds before a kind or a namespace that is missing is looked for again, doubled each time; three in all."""
_PATIENCE: Final = 600.0
"""Seconds that a delete may take."""


class NoMatchError(ProviderError):
    """The cluster does not serve a kind."""


class ClusterObjects:
    """The objects of one cluster. stack: whose they are."""

    def __init__(self, cluster: ClusterApi, stack: str) -> None:
        self._cluster, self._stack = cluster, stack

    def manager(self, token: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None) -> str:
        return manifests.manager_of(token, inputs, outputs, self._stack)

    def placed(self, token: str, inputs: Mapping[str, Any]) -> tuple[str, ObjectName]:
        """Where an object is. Raises NoMatchError, and ProviderError where the cluster does not answer."""
        api_version, kind = manifests.kind_of(token, inputs)
        served = self._cluster.kind(api_version, kind)
        if served is None:
            raise NoMatchError(
                f'no matches for kind "{kind}" in version "{api_version}": let the resource depend on what brings its '
                "CustomResourceDefinition"
            )
        place = manifests.named(token, inputs, "default" if served.namespaced else "")
        return served.of(place.namespace, place.name), place

    def find(self, token: str, inputs: Mapping[str, Any]) -> JsonObject | None:
        return self._cluster.find(self.placed(token, inputs)[0])

    def apply(
        self,
        token: str,
        inputs: JsonObject,
        old_outputs: JsonObject | None,
        *,
        dry: bool = False,
        cancel: Cancel | None = None,
    ) -> tuple[JsonObject, str]:
        """The object as the cluster answers, and who owns the fields. A dry run that meets nothing to run
        against (a namespace of this very run) answers with nothing. Raises ProviderError.
        """
        manager = self.manager(token, inputs, old_outputs)
        query = {"fieldManager": manager, "fieldValidation": "Strict"}
        query |= {"force": "true", "dryRun": "All"} if dry else {}
        for attempt in range(_ATTEMPTS):
            last = dry or attempt == _ATTEMPTS - 1 or cancel is None
            try:
                path, place = self.placed(token, inputs)
                if old_outputs is None and self.is_anothers(token, inputs):
                    raise ProviderError(
                        f"{place} already exists in the cluster, as another stack's or somebody's own: delete "
                        "that one, or give this one another name"
                    )
                return self._cluster.apply(path, inputs, query), manager
            except (NoMatchError, ApiRefusedError) as error:
                missing = isinstance(error, NoMatchError) or error.code == HTTPStatus.NOT_FOUND
                if missing and not last and not cancel.wait_to_begin(_PAUSE * 2**attempt):
                    continue
                if isinstance(error, NoMatchError):
                    raise
                if dry and (missing or "being terminated" in str(error) or (old_outputs is None and _is_fixed(error))):
                    return {}, manager
                raise ProviderError(_refusal(manifests.named(token, inputs, ""), manager, error)) from error
        raise AssertionError("the last attempt returns or raises")

    def is_anothers(self, token: str, inputs: JsonObject) -> bool:
        """Whether what stands is somebody else's: no attempt of ours made it, whose answer was lost."""
        found = self.find(token, inputs)
        owners = (found or {}).get("metadata", {}).get("managedFields") or ()
        manager = self.manager(token, inputs, None)
        return found is not None and not any(each.get("manager") == manager for each in owners)

    def delete(self, token: str, outputs: JsonObject, cancel: Cancel) -> None:
        """Delete the very object of these outputs, and wait until it is gone. Raises ProviderError."""
        (path, place), uid = self.placed(token, outputs), outputs["metadata"].get("uid", "")
        annotations = outputs["metadata"].get("annotations") or {}
        policy = annotations.get(manifests.PROPAGATION, "foreground").capitalize()
        asked: JsonObject = {"propagationPolicy": policy, **({"preconditions": {"uid": uid}} if uid else {})}
        try:
            self._cluster.call("DELETE", path, asked)
        except ApiRefusedError as error:
            # A conflict: another object has the name, and ours is gone; or ours, a namespace, is ending already.
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise ProviderError(f"{place} cannot be deleted: {error}") from error
        began, pause = time.monotonic(), 0.05
        while (left := self._cluster.find(path)) is not None and left["metadata"].get("uid") == uid:
            if time.monotonic() - began > _PATIENCE:
                holders = ", ".join(left["metadata"].get("finalizers") or ["its namespace or definition"])
                raise ProviderError(f"{place} is not deleted after {_PATIENCE:.0f} s, held by {holders}")
            if cancel.wait(pause):
                raise CancelledError("stopped waiting until it is deleted; the cluster goes on deleting it")
            pause = min(2 * pause, 1.0)


def _is_fixed(error: ApiRefusedError) -> bool:
    """Whether a dry run was refused since the object that is to be replaced still stands."""
    return error.code == HTTPStatus.UNPROCESSABLE_ENTITY and ("immutable" in str(error) or "Forbidden" in str(error))


def _refusal(place: ObjectName, manager: str, error: ApiRefusedError) -> str:
    if error.code != HTTPStatus.CONFLICT:
        return f"{place} is refused by the API server: {error}"
    return f"{place}: server-side apply as {manager} met fields of others: {error}. Leave them out of the program"
