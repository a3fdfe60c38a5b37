"""The objects of the fleet bucket that say what a stack's fleet shall be: start-up bundle, start-up record, manifest.

Owns them as resources. Leaves their content to `infra.program.records`, and objects that others write (images, orders,
reports, the controller's memory) to `infra.fleet.records`.

An object's text is a secret to its provider, so that a plan shows no difference of it. What of it a person must see in
a plan stands in the component's own inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_gcp as gcp

from infra.model.planned_records import RECORDS_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredObject:
    """One object. content: its text, known to every preview. kept: whether it stays when it leaves the program."""

    name: str
    content: pulumi.Input[str]
    content_type: str
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRecordsArgs:
    """bucket: the fleet bucket's name, as an output of it. told: what plans show of the objects, plain values.

    objects: in the order in which they are written, what is named by another before that one.
    """

    bucket: pulumi.Input[str]
    objects: tuple[DeclaredObject, ...]
    told: pulumi.Input[Mapping[str, Any]]


class FleetRecords(pulumi.ComponentResource):
    """Objects that are there before any VM is. Who waits for `last` has waited for all of them.

    Nothing but the bucket is waited for, so that an apply that is cut off or fails half-way has published.
    """

    last: gcp.storage.BucketObject

    def __init__(self, name: str, args: FleetRecordsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(RECORDS_TYPE, name, {"fleet": args.told}, opts)
        before: list[gcp.storage.BucketObject] = []
        for each in args.objects:
            self.last = gcp.storage.BucketObject(
                each.name,
                bucket=args.bucket,
                name=each.name,
                content=each.content,
                content_type=each.content_type,
                opts=pulumi.ResourceOptions(parent=self, retain_on_delete=each.kept, depends_on=list(before)),
            )
            before.append(self.last)
        self.register_outputs({"objects": [each.name for each in args.objects]})
