"""What commands about images work with: the registries and buckets of a cloud.

Owns how they are put together. What is declared is `infra.operations.declared.images`; what is read and written through
them is `infra.fleet.images`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.images.oci import OciRegistry, Reader, RegistryError
from infra.fleet.images.promotion import Promotion, artifact_places
from infra.fleet.images.registries import RegistryClients
from infra.fleet.images.store import Store
from infra.fleet.records import Records
from infra.model.catalogue import region_of
from infra.model.images.places import pool_stacks, uses
from infra.model.images.record_documents import Build
from infra.operations.declared.images import Lab
from infra.operations.errors import Failure, Refusal
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import clock_of, cloud_without_engine, reached, registry_beside

_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A cloud at hand. google: clients by stack. now: the cloud's time when it was reached."""

    lab: Lab
    google: Mapping[str, Clients]
    store: Store
    registries: RegistryClients
    now: datetime

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
                now=clock_of(chosen, endpoint)(),
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
    return registry_beside(endpoint, teller)
