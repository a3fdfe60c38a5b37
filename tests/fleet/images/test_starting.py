"""Starting a build by a message: what is sent, what is waited for, and what ends the wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.images.builds import INTERVAL, Starter
from infra.model import names
from infra.model.images.record import built
from infra.model.images.record_documents import Build
from tests.fleet.images.worlds import NOW, PLACES, World, digest

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

PROJECT, REGION, IMAGE = "a-lab", "us-central1", "tpu-ci"


@pytest.fixture
def google(cloud: TestCloud) -> Iterator[Clients]:
    with clients(PROJECT, cloud.url) as made:
        topic = f"projects/{PROJECT}/topics/{names.build_topic('ci', IMAGE)}"
        execute(made.api(Api.PUBSUB).projects().topics().create(name=topic, body={}), "making the topic")
        yield made


class Wait:
    """A clock that only sleeping moves, and what happens meanwhile, by second."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: dict[float, Any] = {}

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.events.pop(self.now, lambda: None)()

    def clock(self) -> float:
        return self.now


@pytest.fixture
def wait() -> Wait:
    return Wait()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def starter(google: Clients, wait: Wait, world: World) -> Starter:
    return Starter(
        google=google,
        store=world.store,
        project=PROJECT,
        stack="ci",
        region=REGION,
        sleep=wait.sleep,
        clock=wait.clock,
    )


def begin(google: Clients, image: str = IMAGE) -> str:
    """A build that somebody started; its id."""
    body = {"steps": [{"name": "debian"}], "tags": [f"image-{image}"]}
    builds = google.api(Api.BUILDS).projects().locations().builds()
    begun = execute(builds.create(parent=f"projects/{PROJECT}/locations/{REGION}", body=body), "starting a build")
    return begun["metadata"]["build"]["id"]


def cancel(google: Clients, build: str) -> None:
    name = f"projects/{PROJECT}/locations/{REGION}/builds/{build}"
    execute(google.api(Api.BUILDS).projects().locations().builds().cancel(name=name, body={}), "cancelling")


def record(world: World, build: str) -> None:
    made = Build(digest=digest("a"), revision={}, built=NOW, build=f"cloudbuild/{build}", places=PLACES)
    world.store.update(lambda present: built(present, IMAGE, made)[0])


def test_without_a_wait_the_message_alone_is_sent(starter: Starter) -> None:
    said: list[str] = []
    started = starter.start(IMAGE, limit=0, tell=said.append)
    assert started.topic == f"projects/{PROJECT}/topics/tidepool-ci-build-tpu-ci"
    assert started.recorded is None
    assert said == [f"message {started.message} to {started.topic}"]


def test_the_wait_ends_once_the_record_has_the_build_that_the_message_started(
    starter: Starter, google: Clients, wait: Wait, world: World
) -> None:
    begin(google)
    ours: list[str] = []
    wait.events[INTERVAL] = lambda: ours.append(begin(google))
    wait.events[3 * INTERVAL] = lambda: record(world, ours[0])
    started = starter.start(IMAGE, limit=3600, tell=lambda _: None)
    assert started.recorded is not None
    assert started.recorded.build == f"cloudbuild/{ours[0]}"
    assert list(started.builds) == ours, "the one from before is somebody else's"
    assert wait.now == 3 * INTERVAL


def test_a_build_that_ends_badly_ends_the_wait_and_is_named(starter: Starter, google: Clients, wait: Wait) -> None:
    ours: list[str] = []
    wait.events[INTERVAL] = lambda: ours.append(begin(google))
    wait.events[2 * INTERVAL] = lambda: cancel(google, ours[0])
    with pytest.raises(GoogleError, match="it ended as CANCELLED") as caught:
        starter.start(IMAGE, limit=3600, tell=lambda _: None)
    assert ours[0] in str(caught.value)


def test_a_stack_whose_topic_is_not_there_says_which_and_what_makes_it(starter: Starter) -> None:
    with pytest.raises(GoogleError, match=r"tidepool-ci-build-controller.*`./tidepool up ci` makes it"):
        starter.start("controller", limit=0, tell=lambda _: None)


def test_an_account_that_may_not_look_at_builds_waits_for_the_record_alone(
    starter: Starter, cloud: TestCloud, google: Clients, wait: Wait, world: World
) -> None:
    record(world, "an-earlier-one")
    cloud.control.fail("error", code=403, method="cloudbuild.projects.locations.builds.list")
    wait.events[2 * INTERVAL] = lambda: record(world, "ours")
    started = starter.start(IMAGE, limit=3600, tell=lambda _: None)
    assert started.recorded is not None
    assert started.recorded.build == "cloudbuild/ours"
