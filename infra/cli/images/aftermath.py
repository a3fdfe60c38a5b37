"""What `up` does about images once it has applied a stack.

Owns the start of builds that triggers had to refuse before, and that what the broker and the controller run is kept
from clean-up.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from rich.console import Console

from infra.cli.images.lab import Lab, declared, others
from infra.cli.workspace import workspace
from infra.fleet.google import clients
from infra.fleet.images.registries import Registries
from infra.fleet.images.roles import RoleImages
from infra.fleet.images.starting import send
from infra.fleet.images.store import Store
from infra.fleet.records import Records
from infra.model.images.redeclared import redeclared
from infra.model.images.spec import SPEC_FILE
from infra.model.plan import Plan
from infra.model.schema import StackConfig


def build_anew(config: StackConfig, run: Plan, endpoint: str | None) -> tuple[str, ...]:
    """Start a build of each image whose trigger has other steps since this run, or was turned on by it; their names.

    endpoint: the local cloud's root URL, None on Google. GoogleError where a message is refused.
    """
    if config.builds is None:
        return ()
    images = redeclared(declared().spec, run)
    with clients(config.project, endpoint) as google:
        for image in images:
            send(google, config.project, config.stack, image)
    return images


def keep_for_roles(config: StackConfig, endpoint: str | None) -> tuple[str, ...]:
    """Tag what the stack's broker and controller run; the tags that were set. GoogleError where a call fails."""
    if config.controller.image is None or not (workspace().root / SPEC_FILE).is_file():
        return ()
    with _role_images(config, declared(), endpoint) as images:
        return images.keep(config.controller.image, datetime.now(UTC))


@contextmanager
def _role_images(config: StackConfig, lab: Lab, endpoint: str | None) -> Generator[RoleImages]:
    with ExitStack() as held:
        google = held.enter_context(clients(config.project, endpoint))
        home = held.enter_context(clients(lab.home.project, endpoint))
        record = Records(google=home, bucket=lab.home.bucket.name)
        yield RoleImages(
            store=Store(record=record, pointers={}),
            registries=Registries(google=google, others=others(endpoint, Console(quiet=True))),
            stack=config.stack,
        )
