"""Builds: started by a message, recorded once every place has them, and which steps were last asked for.

Owns the message to the image's topic, and how the build that it started is found: the one that was not there before. A
wait that ends early ends nothing but the waiting. Owns the commit point of a build: every place is asked again,
documents are kept, then the record names the digest; writing the same build twice changes nothing. Whether a build is
the current one is the record's rule. Owns `control/STACK/builds.json` of a stack's own fleet bucket, by which a build
that could not be started is started by the next `up`; no builder may write there. Leaves the build itself to Cloud
Build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.fleet.images.registries import Answers
from infra.fleet.images.store import Objects, Store, begin
from infra.fleet.records import Records
from infra.model import bucket_names, names
from infra.model.errors import ConfigError, Problem
from infra.model.images.record import RecordOutcome, built
from infra.model.images.record_documents import Build, BuildDocument, Record, parse, parse_as

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


VERSION: Final = 1


class AskedSteps(BuildDocument):
    """steps: digests by image; empty where its trigger was off."""

    version: Literal[1] = VERSION
    steps: Mapping[str, str]


def read_asked(bucket: Objects, stack: str) -> Mapping[str, str] | None:
    """The digests; None where none were written yet. Raises GoogleError, and ConfigError where it cannot be read."""
    name = bucket_names.builds_object(stack)
    found = bucket.read(name)
    fix = f"delete {name} from the fleet bucket, and start builds that are missing by hand"
    return None if found is None else parse_as(AskedSteps, name, found.body, fix).steps


def write_asked(bucket: Objects, stack: str, steps: Mapping[str, str]) -> None:
    """Write the digests down. Raises GoogleError."""
    bucket.update(bucket_names.builds_object(stack), lambda _: AskedSteps(steps=steps).model_dump(mode="json"))


JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a build came to. current: the digest that the record names now. generation: the record's."""

    image: str
    build: Build
    outcome: RecordOutcome
    current: str
    generation: int


def record_build(
    records: Records,
    registries: Answers,
    image: str,
    build: Build,
    *,
    places: Sequence[str],
    documents: Mapping[str, bytes],
) -> Recorded:
    """Record a build of `image` that is in all of `places`.

    documents: what is kept beside the record, by the field of `Build` that names it (`sbom`, `provenance`).
    Raises ConfigError where the build is not in every place, GoogleError and RegistryError where a call fails; nothing
    that readers see was changed then.
    """
    _insist_on_places(registries, image, build, places)
    kept: dict[str, str] = {}
    for field, content in documents.items():
        kept[field] = bucket_names.image_document_object(image, build.digest, f"{field}.json")
        records.put_once(kept[field], content, JSON)
    wanted = build.model_copy(update={**kept, "places": tuple(places)})
    seen: list[tuple[Record, RecordOutcome]] = []

    def decide(body: Mapping[str, object] | None) -> Mapping[str, object]:
        seen.append(built(parse(body), image, wanted))
        return seen[-1][0].to_json()

    begin(records)
    written = records.update(bucket_names.images_record_object(), decide)
    record, outcome = seen[-1]
    current = record.images[image].current.digest
    return Recorded(image=image, build=wanted, outcome=outcome, current=current, generation=written.generation)


def _insist_on_places(registries: Answers, image: str, build: Build, places: Sequence[str]) -> None:
    rule = "a place of the image does not have the digest, so it is not recorded"
    problems = [
        Problem(place, f"{image} was not pushed there", rule, "build again from recipes that say the same places")
        for place in places
        if place not in build.places
    ]
    problems += [
        Problem(place, f"does not have {build.digest}", rule, "run the build's copy and verify steps again")
        for place in places
        if place in build.places and not registries.has(place, build.digest)
    ]
    if problems:
        raise ConfigError(problems)
