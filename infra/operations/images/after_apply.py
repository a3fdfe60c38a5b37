"""What `up` does about images once it has applied a stack.

Owns the start of builds that triggers had to refuse before, and that what the broker and the controller run is kept
from clean-up.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime

from infra.fleet.google import GoogleError, clients
from infra.fleet.images.builds import read_asked, send, write_asked
from infra.fleet.images.oci import RegistryError
from infra.fleet.images.promotion import RoleImages
from infra.fleet.images.registries import RegistryClients
from infra.fleet.images.store import Store
from infra.fleet.records import Records
from infra.model.errors import ConfigError
from infra.model.images.rebuilds import before, is_first, owed, told
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.model.plan import Plan
from infra.model.schema import StackConfig
from infra.operations.declared.images import Lab, declared
from infra.operations.images.lab import others
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesAfterApply:
    """started: images whose builds were started. problems: what could not be done, with what to do."""

    started: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def after_apply(config: StackConfig, run: Plan, endpoint: str | None, now: datetime) -> ImagesAfterApply:
    """All that is done about images; what cannot be done is a problem, for the stack is applied already.

    run: what was applied. endpoint: the local cloud's root URL, None on Google. now: the cloud's time.
    """
    builds, keeps = config.builds is not None, _keeps_for_roles(config)
    if not builds and not keeps:
        return ImagesAfterApply()
    try:
        lab = declared()
    except ConfigError as error:
        problems = [_unkept(config.stack, error)] if keeps else []
        return ImagesAfterApply(problems=(*problems, *([_unknown(config.stack, error, ())] if builds else [])))
    problems: list[str] = []
    done = ImagesAfterApply()
    try:
        keep_for_roles(config, lab, endpoint, now)
    except (GoogleError, RegistryError) as error:
        problems.append(_unkept(config.stack, error))
    if builds:
        try:
            done = build_anew(config, lab.spec, run, endpoint)
        except GoogleError as error:
            problems.append(_unknown(config.stack, error, ()))
    return ImagesAfterApply(started=done.started, problems=(*problems, *done.problems))


def build_anew(config: StackConfig, spec: ImageSpec, run: Plan, endpoint: str | None) -> ImagesAfterApply:
    """Start a build of each image whose trigger has other steps than were last asked for, or was turned on.

    What could not be started stays owed, and the next `up` starts it.
    """
    now, unasked = told(spec, run), before(spec, run)
    if not now:
        return ImagesAfterApply()
    problems: list[str] = []
    with clients(config.project, endpoint) as google:
        bucket = Records(google=google, bucket=config.bucket.name)
        try:
            known = read_asked(bucket, config.stack)
        except (GoogleError, ConfigError) as error:
            return ImagesAfterApply(problems=(_unknown(config.stack, error, owed(spec, now, unasked)),))
        asked = unasked if known is None or is_first(run) else known
        images = owed(spec, now, asked)
        refused: set[str] = set()
        for image in images:
            try:
                send(google, config.project, config.stack, image)
            except GoogleError as error:
                refused |= {each.name for each in spec.family(image)}
                problems.append(_refused(config.stack, error, image))
        kept = {image.name: asked[image.name] for image in spec.images if image.name in asked}
        steps = kept | {each: now[each] for each in now if each not in refused}
        try:
            if steps != known:
                write_asked(bucket, config.stack, steps)
        except GoogleError as error:
            again = f", which starts {', '.join(images)} once more" if images else ""
            problems.append(f"{error}. Next: `./tidepool up {config.stack}`{again}")
    return ImagesAfterApply(started=tuple(each for each in images if each not in refused), problems=tuple(problems))


def _unkept(stack: str, error: Exception) -> str:
    what = "images of the broker and the controller are not safe from clean-up"
    return f"{what}: {error}. Next: `./tidepool up {stack}`"


def _unknown(stack: str, error: Exception, images: Sequence[str]) -> str:
    by_hand = "".join(f", or `./tidepool images build {each} --trigger`" for each in images)
    return f"cannot tell which builds to start: {error}. Next: `./tidepool up {stack}`{by_hand}"


def _refused(stack: str, error: Exception, image: str) -> str:
    now = f"`./tidepool images build {image} --trigger`"
    return f"no build of {image} was started: {error}. Next: {now}; else the next `./tidepool up {stack}` starts it"


def _keeps_for_roles(config: StackConfig) -> bool:
    """Whether the stack runs a broker and a controller of ours; those of a lab without images are another's to keep."""
    ours = config.builds is not None or config.registry_stack is not None
    return config.controller.image is not None and ours and (workspace().root / SPEC_FILE).is_file()


def keep_for_roles(config: StackConfig, lab: Lab, endpoint: str | None, now: datetime) -> tuple[str, ...]:
    """Tag what the stack's broker and controller run; the tags that were set. Raises GoogleError, RegistryError."""
    if config.controller.image is None or not _keeps_for_roles(config):
        return ()
    with _role_images(config, lab, endpoint) as images:
        return images.keep(config.controller.image, now)


@contextmanager
def _role_images(config: StackConfig, lab: Lab, endpoint: str | None) -> Generator[RoleImages]:
    with ExitStack() as held:
        google = held.enter_context(clients(config.project, endpoint))
        home = held.enter_context(clients(lab.home.project, endpoint))
        record = Records(google=home, bucket=lab.home.bucket.name)
        yield RoleImages(
            store=Store(record=record, pointers={}),
            registries=RegistryClients(google=google, others=others(endpoint)),
            stack=config.stack,
        )
