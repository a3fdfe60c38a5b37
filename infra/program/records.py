"""What the program declares of a fleet's records: start-up bundle and record, the ceilings of runs, the manifest.

Owns their content and its form. Leaves the documents' shapes to `infra.model.manifest`, and the bundle's making to
`infra.fleet.bundle`. What another writes is never declared here: of one object there is one writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from infra.components.fleet_records import DeclaredObject, FleetRecords, FleetRecordsArgs
from infra.fleet.bundle import STUB, Bundle, runner_bundle
from infra.fleet.records import encode
from infra.model import bucket_names
from infra.model.manifest import manifest, startup, told
from infra.model.run_records import Ceilings
from infra.model.schema import StackConfig

_JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDocuments:
    """What a stack's fleet shall be, in the two documents that say it."""

    startup: dict[str, Any]
    manifest: dict[str, Any]


def fleet_documents(
    config: StackConfig,
    bundle: Bundle,
    *,
    registry: StackConfig | None = None,
    siblings: Sequence[StackConfig] = (),
    broker: str | None = None,
) -> FleetDocuments:
    """The documents of a stack. bundle: what its VMs boot with. The rest is as for `infra.model.manifest.manifest`."""
    return FleetDocuments(
        startup=startup(config, bundle=bundle.sha256, broker=broker),
        manifest=manifest(
            config,
            bundle=bundle.sha256,
            startup_script=STUB.read_text(encoding="utf-8"),
            registry=registry,
            siblings=siblings,
            broker=broker,
        ),
    )


def _ceilings(config: StackConfig) -> Iterator[DeclaredObject]:
    """How many VMs runs may make, read by whoever makes one: workflow files of other repositories do not repeat it."""
    if (runs := config.runs) is not None:
        ceilings = Ceilings(per_day=runs.per_day, at_once=runs.at_once)
        name = bucket_names.run_ceilings_object(config.stack)
        yield DeclaredObject(name=name, content=encode(ceilings.to_json()).decode(), content_type=_JSON)


def declare_records(
    config: StackConfig,
    bucket: pulumi.Input[str],
    broker: pulumi.Input[str] | None,
    *,
    registry: StackConfig | None,
    siblings: Sequence[StackConfig],
) -> FleetRecords:
    """Declare them. broker: where VMs reach the broker, None where the stack declares none."""
    bundle = runner_bundle()
    documents = pulumi.Output.from_input(broker).apply(
        lambda url: fleet_documents(config, bundle, registry=registry, siblings=siblings, broker=url)
    )
    return FleetRecords(
        "records",
        FleetRecordsArgs(
            bucket=bucket,
            objects=(
                DeclaredObject(
                    name=bucket_names.bundle_object(bundle.sha256),
                    content=bundle.content,
                    content_type="application/zip",
                    # VMs that boot, and a rollout that goes back, may need any that was ever current.
                    kept=True,
                ),
                DeclaredObject(
                    name=bucket_names.startup_object(),
                    content=documents.apply(lambda found: encode(found.startup).decode()),
                    content_type=_JSON,
                ),
                *_ceilings(config),
                DeclaredObject(
                    name=bucket_names.manifest_object(config.stack),
                    content=documents.apply(lambda found: encode(found.manifest).decode()),
                    content_type=_JSON,
                ),
            ),
            told=documents.apply(lambda found: told(config, found.manifest)),
        ),
    )
