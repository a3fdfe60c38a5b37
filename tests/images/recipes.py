"""What must hold of every Dockerfile, as a function from its text to what is wrong, and the few words it reads.

Arguments that nobody gives and files that the ignore file lets through are the declaration's to refuse
(`infra.model.images.folders`); style is hadolint's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LABELS = ("created", "revision", "source")
BASES = ("${BASE_IMAGE}", "${PARENT_IMAGE}")
RECIPE = "recipe"
"""The image's own folder, a context of every build beside the sources."""
INSTALLERS = {
    "apt-get install": "target=/var/cache/apt",
    "uv sync": "target=/var/cache/uv",
    "pip install": "target=/root/.cache/pip",
}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction with its line breaks taken away; `stage` counts from 0."""

    word: str
    text: str
    stage: int


def instructions(dockerfile: str) -> tuple[Instruction, ...]:
    lines = "\n".join(line for line in dockerfile.splitlines() if not line.lstrip().startswith("#"))
    found, stage = [], -1
    for line in re.sub(r"\\\n", " ", lines).splitlines():
        if line.strip():
            word, _, text = line.strip().partition(" ")
            stage += word.upper() == "FROM"
            found.append(Instruction(word.upper(), " ".join(text.split()), stage))
    return tuple(found)


def faults(dockerfile: str) -> tuple[str, ...]:
    return tuple(_faults(instructions(dockerfile), dockerfile))


def _faults(every: tuple[Instruction, ...], dockerfile: str) -> Iterator[str]:
    stages = [each.text.split() for each in every if each.word == "FROM"]
    names = {words[2] for words in stages if len(words) == 3}
    if len(stages) < 2:
        yield "one stage: what builds would ship"
    for words in stages:
        if words[0] not in {*BASES, *names}:
            yield f"FROM {words[0]}: a base comes by argument, with its digest"
    last = [each for each in every if each.stage == len(stages) - 1]
    inherited = list(_lineage(every, stages))
    users = [each.text for each in inherited if each.word == "USER"]
    if not users or users[-1] != "1000:1000":
        yield "the image does not run as 1000:1000"
    labels = " ".join(each.text for each in last if each.word == "LABEL")
    for label in LABELS:
        if f'org.opencontainers.image.{label}="${{{label.upper()}}}"' not in labels:
            yield f"no label org.opencontainers.image.{label} from its argument"
    if "SOURCE_DATE_EPOCH" not in {each.text for each in every if each.word == "ARG"}:
        yield "SOURCE_DATE_EPOCH is not taken"
    for each in every:
        yield from _of_one(each, stages[each.stage] if each.stage >= 0 else [], names)
    for word in ("/opt/uv", "sudo", "NOPASSWD"):
        if any(word in each.text for each in every):
            yield f"{word} is written out"
    if "<<" in dockerfile or "# syntax=" in dockerfile:
        yield "a builder without these words of BuildKit could not read it"


def _lineage(every: tuple[Instruction, ...], stages: list[list[str]]) -> Iterator[Instruction]:
    """The instructions that the last stage has, those of stages that it starts from first."""
    chain, index = [], len(stages) - 1
    while index is not None:
        chain.insert(0, index)
        index = next((n for n, words in enumerate(stages) if len(words) == 3 and words[2] == stages[index][0]), None)
    for stage in chain:
        yield from (each for each in every if each.stage == stage)


def _of_one(each: Instruction, stage: list[str], names: set[str]) -> Iterator[str]:
    if each.word == "ADD":
        yield "ADD: a download has its checksum compared, a file is copied"
    if each.word == "ARG" and "=" in each.text:
        yield f"ARG {each.text}: a default is a second place to say it"
    if each.word == "ENV" and re.search(r"(?i)(token|secret|password|key)=", each.text):
        yield f"ENV {each.text}: a secret in a layer"
    if each.word == "COPY" and re.search(r"(?i)\.netrc|id_rsa|credentials", each.text):
        yield f"COPY {each.text}: a secret in a layer"
    if each.word == "COPY" and (source := re.search(r"--from=(\S+)", each.text)) and source[1] not in {*names, RECIPE}:
        yield f"COPY --from={source[1]}: not a stage of this file"
    if each.word != "RUN":
        return
    downloads = len(re.findall(r"\b(?:curl|wget) -", each.text))
    if downloads and "sha256sum -c" not in each.text:
        yield "a download without a checksum"
    for command, mount in INSTALLERS.items():
        # The stage `warm` fills the cache that ships: a mount over it would leave it out of the image.
        if command in each.text and mount not in each.text and stage[-1:] != ["warm"]:
            yield f"{command} without a cache mount"
    if packages := re.search(r"--no-install-recommends ([a-z0-9.+ -]+?)(?: &&|$)", each.text):
        listed = packages[1].split()
        if listed != sorted(set(listed)):
            yield f"packages are not sorted: {' '.join(listed)}"
    if "pip" in each.text and "install" in each.text and "--require-hashes" not in each.text:
        yield "pip install without hashes"
    if "uv sync" in each.text and "--frozen" not in each.text:
        yield "uv sync that may change the lock"
