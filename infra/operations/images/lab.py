"""What commands about images work with: the declarations of this checkout, and the registries and buckets of a cloud.

Owns how they are put together. What is read and written through them is `infra.fleet.images`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.images.oci import OciRegistry, Reader, RegistryError
from infra.fleet.images.promotion import Promotion, artifact_places
from infra.fleet.images.registries import RegistryClients
from infra.fleet.images.store import Store
from infra.fleet.records import Records
from infra.model.catalogue import region_of
from infra.model.errors import ConfigError, Problem
from infra.model.images.load import load_images
from infra.model.images.pins import Pins, load_pins
from infra.model.images.places import places, pool_stacks, record_stack, uses
from infra.model.images.record_documents import Build
from infra.model.images.spec import SPEC_FILE, Image, ImageSpec
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.operations.errors import Failure, Refusal
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import cloud_without_engine, reached
from infra.operations.workspace import workspace

_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Everything that this checkout declares about images."""

    root: Path
    spec: ImageSpec
    pins: Pins
    stacks: Mapping[str, StackConfig]

    def image(self, name: str) -> Image:
        """The image of that name; ConfigError with the known ones where there is none."""
        known = [each.name for each in self.spec.images]
        if name not in known:
            fix = f"one of {', '.join(sorted(known))}"
            raise ConfigError([Problem("image", name, f"{SPEC_FILE} declares no such image", fix)])
        return self.spec.image(name)

    def named(self, subject: str) -> tuple[str, str | None]:
        """`IMAGE` or `IMAGE@DIGEST` taken apart; ConfigError where no such image is declared."""
        name, _, digest = subject.partition("@")
        return self.image(name).name, digest or None

    def pools_of(self, image: Image) -> Sequence[str]:
        """The pools that may run an image."""
        return sorted(pool for pool, images in uses(self.spec, self.stacks).items() if image.name in images)

    def places(self, image: str) -> tuple[str, ...]:
        return places(self.spec.image(image), self.stacks)

    @property
    def repositories(self) -> tuple[str, ...]:
        """Every repository that images are built from, sorted."""
        return tuple(sorted({self.spec.recipes, *(image.context.repository for image in self.spec.images)}))

    def repository(self, name: str) -> str:
        """The repository as the file spells it; ConfigError where no image is built from it."""
        for each in self.repositories:
            if each.lower() == name.lower():
                return each
        fix = f"one of {', '.join(self.repositories)}"
        raise ConfigError([Problem("repository", name, f"no image of {SPEC_FILE} is built from it", fix)])

    @property
    def home(self) -> StackConfig:
        """The stack whose fleet bucket has the record."""
        return self.stacks[record_stack(self.spec)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A cloud at hand. google: clients by stack."""

    lab: Lab
    google: Mapping[str, Clients]
    store: Store
    registries: RegistryClients

    @property
    def records(self) -> Records:
        """The bucket with the record of images."""
        home = self.lab.home
        return Records(google=self.google[home.stack], bucket=home.bucket.name)

    def current(self, image: str) -> Build:
        """The build that the record names as current. Raises Refusal where none is recorded."""
        known = self.store.read().images.get(image)
        if known is None:
            raise Refusal(f"no build of {image} is recorded; `./tidepool images build {image} --trigger` starts one")
        return known.current

    def promotion(self) -> Promotion:
        lab, stacks = self.lab, pool_stacks(self.lab.stacks)
        return Promotion(
            store=self.store,
            registries=self.registries,
            uses=uses(lab.spec, lab.stacks),
            places={each.name: artifact_places(lab.places(each.name)) for each in lab.spec.images},
            regions={
                pool: frozenset(map(region_of, lab.stacks[stack].pool(pool).reach)) for pool, stack in stacks.items()
            },
            stacks=stacks,
        )


def declared() -> Lab:
    """What images.yaml, the pins and all stack files say; ConfigError with every problem."""
    root = workspace().root
    stacks = {name: load_stack(root, name) for name in stack_names(root)}
    return Lab(root=root, spec=load_images(root, stacks), pins=load_pins(root), stacks=stacks)


@contextmanager
def at_work(
    lab: Lab,
    cloud: CloudName | None = None,
    teller: Teller = SILENT,
    *,
    agree: Callable[[CloudName], None] = lambda _: None,
) -> Generator[Work]:
    """Reach the cloud; what a service refuses becomes a Failure.

    agree: called before the chosen cloud is reached; what it raises ends it there.
    """
    chosen = cloud_without_engine(cloud).cloud
    teller.works_on(chosen, f"the record of {lab.home.stack} on {chosen.said}")
    agree(chosen)
    endpoint = reached(chosen, teller)
    try:
        with ExitStack() as stack:
            google = {
                name: stack.enter_context(clients(config.project, endpoint)) for name, config in lab.stacks.items()
            }
            buckets = {
                name: Records(google=google[name], bucket=config.bucket.name) for name, config in lab.stacks.items()
            }
            home = lab.home.stack
            found = others(endpoint, teller)
            yield Work(
                lab=lab,
                google=google,
                store=Store(record=buckets[home], pointers=buckets),
                registries=RegistryClients(google=google[home], others=found),
            )
    except GoogleError as error:
        raise Failure("\n".join((str(error), *_next_step(lab, error)))) from None
    except RegistryError as error:
        raise Failure(str(error)) from None


def _next_step(lab: Lab, error: GoogleError) -> Iterator[str]:
    """What makes the bucket that is not there: a stack that was never brought up."""
    for name, config in lab.stacks.items():
        if error.status == _NOT_FOUND and f"gs://{config.bucket.name} " in str(error):
            yield f"`./tidepool up {name}` makes the bucket"


def others(endpoint: str | None, teller: Teller = SILENT) -> Reader:
    """Registries that are not Artifact Registry. Beside the local cloud one stands for all of them."""
    if endpoint is None:
        return OciRegistry(token=os.environ.get("GITHUB_TOKEN") or None)
    from infra.operations.local.registry import stand_in  # on Google Cloud nothing local is loaded

    return stand_in(endpoint, teller)
