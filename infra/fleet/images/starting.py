"""Starting a build by a message, and waiting until the record has it.

Owns the message to the image's topic, and how the build that it started is found: the one that was not there before.
Leaves the build itself to Cloud Build. A wait that ends early ends nothing but the waiting.
"""

from __future__ import annotations

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
_BUILDER: Final = "cloudbuild/"
_FORBIDDEN, _NOT_FOUND = 403, 404


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

    def start(
        self, image: str, *, limit: float, tell: Callable[[str], None], revisions: Mapping[str, str] | None = None
    ) -> Started:
        """Start a build of `image` and wait up to `limit` seconds for the record; 0 waits for nothing.

        revisions: commits by folder of the build's workspace (`recipes`, `source`); the newest of the branch where none
        is named. Raises GoogleError where the message is refused, or the build that it started ends without success.
        """
        before, known = set(self._builds(image) or ()), {build.build for build in self._recorded(image)}
        topic, message = send(self.google, self.project, self.stack, image, revisions or {})
        tell(f"message {message} to {topic}")
        until, told = self.clock() + limit, dict[str, str]()
        while self.clock() < until:
            listed = self._builds(image)
            builds = {each: said for each, said in (listed or {}).items() if each not in before}
            for each, said in builds.items():
                if told.get(each) != said["status"]:
                    tell(f"build {each}: {said['status']}")
                    told[each] = said["status"]
            for build in self._recorded(image):
                ours = listed is None or build.build.removeprefix(_BUILDER) in builds
                if ours and build.build.startswith(_BUILDER) and build.build not in known:
                    return Started(topic=topic, message=message, builds=told, recorded=build)
            self._insist_on_success(builds)
            self.sleep(INTERVAL)
        return Started(topic=topic, message=message, builds=told, recorded=None)

    def _builds(self, image: str) -> dict[str, Mapping[str, Any]] | None:
        """The newest builds of an image, by id; None for an account that may start builds and not look at them."""
        parent = f"projects/{self.project}/locations/{self.region}"
        api = self.google.api(Api.BUILDS).projects().locations().builds()
        request = api.list(parent=parent, filter=f'tags="image-{image}"', pageSize=_PAGE)
        try:
            found = execute(request, f"listing builds of {image} in {self.region}")
        except GoogleError as error:
            if error.status != _FORBIDDEN:
                raise
            return None
        return {each["id"]: each for each in found.get("builds", ())}

    def _recorded(self, image: str) -> tuple[Build, ...]:
        """Every build of an image that the record has."""
        known = self.store.read().images.get(image)
        return known.builds() if known else ()

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


def send(
    google: Clients, project: str, stack: str, image: str, revisions: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Start a build of an image by a message; its topic and the message's id. GoogleError where it is refused."""
    topic = f"projects/{project}/topics/{names.build_topic(stack, image)}"
    told = {f"{each}_revision": commit for each, commit in (revisions or {}).items()}
    body = {"messages": [{"attributes": {"started_by": "tidepool", **told}}]}
    request = google.api(Api.PUBSUB).projects().topics().publish(topic=topic, body=body)
    try:
        return topic, execute(request, f"sending a message to {topic}")["messageIds"][0]
    except GoogleError as error:
        if error.status != _NOT_FOUND:
            raise
        raise GoogleError(
            f"sending a message to {topic}", f"there is no such topic; `./tidepool up {stack}` makes it"
        ) from None
