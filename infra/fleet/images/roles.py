"""What the broker and the controller of a stack run, kept from clean-up as what pools run is.

Owns the order: the digest is tagged in the place that Cloud Run pulls from, then the record names it, then tags of
digests that no revert of the last few edits brings back are taken away. Cut off anywhere, what runs stays tagged. Which
image that is, the stack file says (`tidepool:controller.image`), and `up` hands it over whenever it applied one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from infra.fleet.images.registries import Answers, ArtifactPlace, in_use
from infra.fleet.images.store import Store
from infra.model import names
from infra.model.images.record import Record, running

ROLES = ("broker", "controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleImages:
    """stack: whose broker and controller."""

    store: Store
    registries: Answers
    stack: str

    def keep(self, reference: str, now: datetime) -> tuple[str, ...]:
        """Keep the image that both run; the tags that were set, `place:tag`. Nothing where the place does not have it:
        Cloud Run does not start what is not there. GoogleError and RegistryError where a call fails.
        """
        place, _, digest = reference.partition("@")
        found = ArtifactPlace.parse(place)
        if found is None or not self.registries.has(place, digest):
            return ()
        tags = {role: names.in_use_tag(names.role_user(self.stack, role), digest) for role in ROLES}
        missing = [tag for tag in tags.values() if self.registries.named(place, tag) != digest]
        for tag in missing:
            self.registries.tag(place, tag, digest)

        def run_by_both(record: Record) -> Record:
            for role in ROLES:
                record = running(record, f"{self.stack}/{role}", found.package, digest, now)
            return record

        before = self.store.read()
        if run_by_both(before) is not before:
            self.store.update(run_by_both)
        self._release(place, found.package)
        return tuple(f"{place}:{tag}" for tag in missing)

    def _release(self, place: str, image: str) -> None:
        """Take away the tags of digests that the record no longer holds for these roles."""
        record, tags = self.store.read(), self.registries.tags(place)
        for role in ROLES:
            target = record.roles[f"{self.stack}/{role}"]
            held = {each.digest for each in target.chain() if each.image == image}
            for tag, digest in in_use(tags, names.role_user(self.stack, role)):
                if digest not in held:
                    self.registries.untag(place, tag)
