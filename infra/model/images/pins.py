"""The table of what images are built from: `images/bases.yaml`, every base image by digest and download by checksum.

Owns the table's shape and the refusal to build from what is not pinned. Where a digest or checksum comes from is in the
entry itself: a public source and the day it was read. An entry may be `unresolved`; nothing is ever guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import StrictStr

from infra.model import yamlfile
from infra.model.document import DocumentPart
from infra.model.errors import ConfigError, Problem
from infra.model.fields.common import BY_KEY, Day
from infra.model.images import RESOLVE
from infra.model.images.reading import WrittenFile, parsed
from infra.model.images.spec import PinName, Version, matching

PINS_FILE = "images/bases.yaml"
UNRESOLVED = "unresolved"

_HTTPS = r"https://[A-Za-z0-9.-]+(:\d+)?(/\S*)?"
# What the steps of a build can write into a provenance as it stands (`plain` of images/steps/lib.sh).
_PLAIN_HTTPS = r"https://[A-Za-z0-9.-]+(:\d+)?(/[A-Za-z0-9._:/@+%?=&~#,-]*)?"

Digest = Annotated[
    StrictStr,
    matching(rf"sha256:[0-9a-f]{{64}}|{UNRESOLVED}", "a digest: sha256: and 64 hexadecimal digits", UNRESOLVED),
]
Sha256 = Annotated[
    StrictStr, matching(rf"[0-9a-f]{{64}}|{UNRESOLVED}", "a checksum: 64 hexadecimal digits of SHA-256", UNRESOLVED)
]
Source = Annotated[StrictStr, matching(_HTTPS, "a public https URL", "where the value can be read again")]
ImageName = Annotated[
    StrictStr,
    matching(
        r"[a-z0-9][a-z0-9.-]*\.[a-z0-9.-]*[a-z0-9](:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+",
        "an image with its registry, without tag or digest",
        "such as docker.io/library/debian",
    ),
]
TagName = Annotated[
    StrictStr, matching(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", "a tag of the image", "such as 3.11-slim")
]
ReleaseVersion = Annotated[
    StrictStr, matching(r"[A-Za-z0-9][A-Za-z0-9._+-]*", "a release of what is downloaded", "such as 1.2.3")
]
Address = Annotated[
    StrictStr,
    matching(_PLAIN_HTTPS, "a public https URL without quotes, dollar signs or spaces", "its URL"),
]
DownloadName = Annotated[
    StrictStr,
    matching(
        r"[a-z]([a-z0-9.-]*[a-z0-9])?",
        "the name of a download: a letter, then letters, digits, dots and hyphens",
        "such as uv",
    ),
]


class Base(DocumentPart):
    """An image that images are built from. `digest` is what `tag` named on the day `read`, as `source` says."""

    image: ImageName
    tag: TagName
    digest: Digest
    source: Source
    read: Day

    @property
    def is_unresolved(self) -> bool:
        return self.digest == UNRESOLVED

    @property
    def reference(self) -> str:
        """`image@digest`, what a build pulls; ValueError where the digest is not known."""
        if self.is_unresolved:
            raise ValueError(f"{self.image}:{self.tag} is {UNRESOLVED}")
        return f"{self.image}@{self.digest}"


class Download(DocumentPart):
    """A file that a build fetches. `sha256` is its checksum (hexadecimal)."""

    version: ReleaseVersion
    url: Address
    sha256: Sha256
    source: Source
    read: Day

    @property
    def is_unresolved(self) -> bool:
        return self.sha256 == UNRESOLVED


class Pins(DocumentPart):
    """The whole table; a name stands for a base or a download, never for both."""

    version: Version
    bases: Annotated[Mapping[PinName, Base], BY_KEY] = {}
    downloads: Annotated[Mapping[DownloadName, Download], BY_KEY] = {}

    def base(self, name: str) -> Base:
        """The base of that name; KeyError where there is none."""
        return self.bases[name]

    def download(self, name: str) -> Download:
        """The download of that name; KeyError where there is none."""
        return self.downloads[name]

    def entry(self, name: str) -> Base | Download | None:
        """What the name stands for; None where there is no such entry."""
        return self.bases.get(name) or self.downloads.get(name)

    def unresolved(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Which of these entries (of all, where none are named) have no digest or checksum, sorted."""
        wanted = {*self.bases, *self.downloads} if names is None else set(names)
        entries: dict[str, Base | Download] = {**self.bases, **self.downloads}
        return tuple(name for name in sorted(wanted) if entries[name].is_unresolved)

    def insist(self, names: Iterable[str]) -> None:
        """ConfigError naming each of these entries that is unresolved: nothing is built from it."""
        rule = f"this entry is {UNRESOLVED}, and builds take only what is pinned"
        problems = [
            Problem(f"{PINS_FILE} {self._path(name)}", UNRESOLVED, rule, RESOLVE) for name in self.unresolved(names)
        ]
        if problems:
            raise ConfigError(problems)

    def _path(self, name: str) -> str:
        return f"bases.{name}.digest" if name in self.bases else f"downloads.{name}.sha256"


def load_pins(root: Path) -> Pins:
    """The table of `root/images/bases.yaml`; ConfigError with every problem."""
    path = root / PINS_FILE
    if not path.is_file():
        raise ConfigError([Problem(PINS_FILE, "", "the table of pins is missing", f"a file {PINS_FILE}")])
    return parse_pins(yamlfile.decoded(path.read_bytes(), PINS_FILE))


def parse_pins(text: str, source: str = PINS_FILE) -> Pins:
    """The table that `text` declares; `source` is how people call the file. ConfigError with every problem."""
    written = WrittenFile.read(text, source)
    table, problems = parsed(Pins, written.data, written.subject)
    if table is not None:
        rule = "the name stands for a base and for a download"
        for name in sorted(table.bases.keys() & table.downloads.keys()):
            problems.append(Problem(written.subject(("downloads", name)), name, rule, "another name for one of them"))
    if table is None or problems or written.problems:
        raise ConfigError([*written.problems, *problems])
    return table
