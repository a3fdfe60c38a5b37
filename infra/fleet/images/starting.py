"""Starting a build by a message, and waiting until the record has it.

Owns the message to the image's topic and how the build that it started is found: the one that was not there before.
Leaves the build itself to Cloud Build. A wait that ends early ends nothing but the waiting.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.fleet.images.store import Store
from infra.model import names
from infra.model.images.record import Build

INTERVAL: Final = 5.0
"""Seconds between two looks."""

FAILED: Final = frozenset(("FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED"))
_PAGE: Final = 20
_BUILDER: Final = "cloudbuild"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What became of a message. builds: those that it started, by id, with their states as last seen.

    recorded: the build that the record has now; None where that was not waited for or did not come in time.
    """

    topic: str
    message: str
    builds: Mapping[str, str]
    recorded: Build | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """One stack's topics and builds. sleep, clock: seconds, as `time.sleep` and `time.monotonic` have them."""

    google: Clients
    store: Store
    project: str
    stack: str
    region: str
    sleep: Callable[[float], None]
    clock: Callable[[], float]

    def start(self, image: str, *, limit: float, tell: Callable[[str], None]) -> Started:
        """Start a build of `image` and wait up to `limit` seconds for the record; 0 waits for nothing.

        Raises GoogleError where the message is refused, or the build that it started ends without success.
        """
        before = set(self._builds(image))
        topic = f"projects/{self.project}/topics/{names.build_topic(self.stack, image)}"
        message = self._publish(topic, image)
        tell(f"message {message} to {topic}")
        until, told = self.clock() + limit, dict[str, str]()
        while self.clock() < until:
            builds = {each: said for each, said in self._builds(image).items() if each not in before}
            for each, said in builds.items():
                if told.get(each) != said["status"]:
                    tell(f"build {each}: {said['status']}")
                    told[each] = said["status"]
            if recorded := self._recorded(image, builds):
                return Started(topic=topic, message=message, builds=told, recorded=recorded)
            self._insist_on_success(builds)
            self.sleep(INTERVAL)
        return Started(topic=topic, message=message, builds=told, recorded=None)

    def _publish(self, topic: str, image: str) -> str:
        body = {"messages": [{"data": base64.b64encode(image.encode()).decode(), "attributes": {"image": image}}]}
        request = self.google.api(Api.PUBSUB).projects().topics().publish(topic=topic, body=body)
        return execute(request, f"sending a message to {topic}")["messageIds"][0]

    def _builds(self, image: str) -> dict[str, Mapping[str, Any]]:
        """The newest builds of an image, by id."""
        parent = f"projects/{self.project}/locations/{self.region}"
        api = self.google.api(Api.BUILDS).projects().locations().builds()
        request = api.list(parent=parent, filter=f'tags="image-{image}"', pageSize=_PAGE)
        found = execute(request, f"listing builds of {image} in {self.region}")
        return {each["id"]: each for each in found.get("builds", ())}

    def _recorded(self, image: str, builds: Mapping[str, object]) -> Build | None:
        known = self.store.read().images.get(image)
        ids = {f"{_BUILDER}/{each}" for each in builds}
        return next((build for build in known.builds() if build.build in ids), None) if known else None

    def _insist_on_success(self, builds: Mapping[str, Mapping[str, Any]]) -> None:
        """One that another build overtook counts as none; where all ended badly, nothing more will come."""
        ended = {each: said for each, said in builds.items() if said["status"] in FAILED}
        if builds and ended.keys() == builds.keys():
            each, said = next(iter(ended.items()))
            why = said.get("statusDetail") or said.get("failureInfo", {}).get("detail", "")
            where = said.get("logUrl", "")
            raise GoogleError(
                f"build {each}", "; ".join(part for part in (f"it ended as {said['status']}", why, where) if part)
            )
