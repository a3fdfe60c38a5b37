"""The commit point of a build: every place is asked again, documents are kept, then the record names the digest.

Owns that order, and that writing the same build twice changes nothing. Whether a build is the current one is the
record's rule. Leaves what came before (build, push, copy) and after (tags) to the steps of a build.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.fleet.images.registries import Answers
from infra.fleet.images.store import begin
from infra.fleet.records import Records
from infra.model import names
from infra.model.errors import ConfigError, Problem
from infra.model.images.record import Build, Record, RecordOutcome, built, parse

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
        kept[field] = names.image_document_object(image, build.digest, f"{field}.json")
        records.put_once(kept[field], content, JSON)
    wanted = build.model_copy(update={**kept, "places": tuple(places)})
    seen: list[tuple[Record, RecordOutcome]] = []

    def decide(body: Mapping[str, object] | None) -> Mapping[str, object]:
        seen.append(built(parse(body), image, wanted))
        return seen[-1][0].to_json()

    begin(records)
    written = records.update(names.images_record_object(), decide)
    record, outcome = seen[-1]
    current = record.images[image].current.digest
    return Recorded(image=image, build=wanted, outcome=outcome, current=current, generation=written.generation)


def _insist_on_places(registries: Answers, image: str, build: Build, places: Sequence[str]) -> None:
    rule = "the record names a digest once every place of the image has it"
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
