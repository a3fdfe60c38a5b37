"""Publishing what the fleet is meant to be: the start-up bundle, the pointer to it, the stack's manifest; and, where
the stack builds images, their empty record before the first build.

Owns the order (what is pointed at comes first) and which parts of the pointer are written here. Needs the bucket and
nothing else of a stack, so that it also works after an apply that failed half-way: a manifest says what is desired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.fleet.bundle import STUB, Bundle, runner_bundle
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.records import Body, Records, Written, encode
from infra.model import names
from infra.model.images.record import EMPTY
from infra.model.manifest import manifest
from infra.model.schema import StackConfig

POINTER_VERSION = 1
_CLOSED = 403
_MISSING = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What is in the bucket now. `changed` of each part says whether this run wrote it."""

    bucket: str
    bundle_sha256: str
    manifest_object: str
    bundle: Written
    pointer: Written
    manifest: Written

    @property
    def changed(self) -> bool:
        return self.bundle.changed or self.pointer.changed or self.manifest.changed


def publish(
    config: StackConfig,
    endpoint: str | None,
    *,
    registry: StackConfig | None = None,
    siblings: Sequence[StackConfig] = (),
) -> Published:
    """Write bundle, pointer and manifest of a stack where they differ from what is there.

    endpoint: the local cloud's root URL, None for Google. registry: the stack whose repositories this one uses
    (`registry_stack`), None where they are its own. siblings: stacks whose VMs draw on the same limits.
    Raises GoogleError where the bucket is missing, refuses or does not answer.
    """
    bundle = runner_bundle()
    bundle_object = names.bundle_object(bundle.sha256)
    manifest_object = names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        broker = _broker(google, config)
        records = Records(google=google, bucket=config.bucket.name)
        if config.builds is not None:
            # Builders may read the record and not list the bucket, and are told 403 of one that is not there.
            records.put_once(names.images_record_object(), encode(EMPTY.to_json()), "application/json")
        return Published(
            bucket=config.bucket.name,
            bundle_sha256=bundle.sha256,
            manifest_object=manifest_object,
            bundle=records.put_once(bundle_object, bundle.content, "application/gzip"),
            pointer=records.update(names.pointer_object(), lambda current: _pointer(config, bundle, broker, current)),
            manifest=records.update(
                manifest_object, lambda _: manifest_document(config, bundle, registry, siblings, broker)
            ),
        )


def withdraw(config: StackConfig, endpoint: str | None) -> None:
    """Declare no VM any more, where the bucket is there and has a manifest. Raises GoogleError where it fails."""
    name = names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        try:
            found = records.read(name)
        except GoogleError as error:
            if error.status == _MISSING:
                return
            raise
        if found is not None:
            records.update(name, lambda current: {**(current or found.body), "slots": []})


def manifest_document(
    config: StackConfig,
    bundle: Bundle,
    registry: StackConfig | None = None,
    siblings: Sequence[StackConfig] = (),
    broker: str | None = None,
) -> dict[str, Any]:
    """The stack's manifest as it is published with this bundle."""
    return manifest(
        config,
        bundle=f"sha256:{bundle.sha256}",
        startup_script=STUB.read_text(encoding="utf-8"),
        registries=_docker_paths(registry or config),
        siblings=siblings,
        broker=broker,
    )


def _broker(google: Clients, config: StackConfig) -> str | None:
    """Where VMs reach the broker: the audience that its service was declared with; None where there is none."""
    if config.controller.image is None:
        return None
    region, service = config.controller.region, names.broker_service(config.stack)
    name = f"projects/{config.project}/locations/{region}/services/{service}"
    request = google.api(Api.RUN).projects().locations().services().get(name=name)
    try:
        found = execute(request, f"looking for the broker, {name}")
    except GoogleError as error:
        # An API that a half-made apply has not enabled answers 403, and the desired fleet is told all the same.
        if error.status in (_CLOSED, _MISSING):
            return None
        raise
    return next(iter(found.get("customAudiences", ())), None)


def _pointer(config: StackConfig, bundle: Bundle, broker: str | None, current: Body | None) -> Body:
    """What VMs read. `images` belongs to promotion, which says there what VMs pull: it is kept, as is a broker that
    stands there where the stack declares none.
    """
    return {
        "images": {},
        **(current or {}),
        "version": POINTER_VERSION,
        "bundle": bundle.sha256,
        **({"broker": broker} if broker else {}),
        "serves": {pool.name: list(pool.serves) for pool in config.pools},
    }


def _docker_paths(config: StackConfig) -> Mapping[str, str]:
    """Docker paths by `<region>/<repository>`."""
    if config.registries is None:
        return {}
    return {
        f"{region}/{repository.name}": names.docker_path(config.project, region, repository.name)
        for region in config.registries.regions
        for repository in config.registries.repositories
    }
