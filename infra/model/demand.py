"""What workflows ask of the fleet, as `workflows/demand.yaml` has it: runners, VMs for a run, images, cache folders.

Owns the document's shape and its reading. The file is generated from every workflow; who makes it is `workflows`, and
whether the fleet can give what is asked is `infra.model.fit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationError

from infra.model import yamlfile
from infra.model.document import DocumentPart
from infra.model.errors import ConfigError, Problem
from infra.model.fields.fleet import is_github_own_label
from infra.model.run_labels import HOSTED
from infra.model.yamlfile import Form

FILE: Final = "workflows/demand.yaml"
VERSION: Final = 1
WRITE: Final = "./tidepool workflows --write"
_FORM: Final = Form(
    kind="a list of demands", content="version: 1", first="version: 1, by " + WRITE, page="docs/workflows.md"
)


class Code(StrEnum):
    """Whose code a job runs, by the event that started it."""

    MAIN = "main"
    """The default branch, or a tag of it."""
    BRANCH = "branch"
    """A branch or a pull request of somebody who may push to the repository."""
    FORK = "fork"
    """A pull request of anybody."""


class Start(DocumentPart):
    """How many legs of a job one event starts, and whose code they run."""

    event: StrictStr
    code: Code
    legs: Annotated[StrictInt, Field(ge=0)]


class Demand(DocumentPart):
    """One job of one workflow file, as far as it concerns the fleet; legs on unlike runners are a demand each.

    labels, group: of the runner that each leg waits for. max_parallel: legs at once, None for all. timeout_minutes: the
    job's limit, None where it has none. inner_minutes: the longest limit within it. image: what the job says it runs
    in, with registry where it names one. cache_folder: where it looks for uv's cache. vm: the pool as which a VM for
    the run is made, and vm_code whose code runs there: Google lets in the main branch alone, but a commit that it is
    told to test may be anybody's. source: the specification that says it, empty where the file is written by hand.
    """

    file: StrictStr
    workflow: StrictStr
    repository: StrictStr
    job: StrictStr
    labels: tuple[StrictStr, ...]
    group: StrictStr = ""
    starts: tuple[Start, ...] = ()
    max_parallel: StrictInt | None = None
    timeout_minutes: StrictFloat | StrictInt | None = None
    inner_minutes: StrictFloat | StrictInt | None = None
    image: StrictStr | None = None
    cache_folder: StrictStr | None = None
    vm: StrictStr | None = None
    vm_code: Code = Code.MAIN
    source: StrictStr = ""

    @property
    def owner(self) -> str:
        """Whose repository it is, in lower case."""
        return self.repository.partition("/")[0].lower()

    @property
    def without(self) -> str:
        """What to write where nobody wants the job."""
        return f"no such job in {self.source}, then {WRITE}" if self.source else f"no such job in {self.file}"

    @property
    def subject(self) -> str:
        """The job, as findings and exceptions name it."""
        return f"{self.repository} {self.file} {self.job}"

    @property
    def hosted(self) -> bool:
        """Whether GitHub's own runners take it."""
        return len(self.labels) == 1 and self.labels[0].lower() in HOSTED

    @property
    def telling(self) -> tuple[str, ...]:
        """The labels that tell one runner of ours from another, in lower case."""
        return tuple(label.lower() for label in self.labels if not is_github_own_label(label))


class ImageUse(DocumentPart):
    """An image of images/images.yaml: where Artifact Registry has it, and the pools that run it.

    stack, repository: of the registries, None where the image is in GHCR alone. regions: None for all of the stack's.
    """

    name: StrictStr
    stack: StrictStr | None = None
    repository: StrictStr | None = None
    regions: tuple[StrictStr, ...] | None = None
    pools: tuple[StrictStr, ...] = ()


class CacheFolders(DocumentPart):
    """Where uv's cache is: in images, and where the start-up of a runner's VM fills it."""

    images: StrictStr
    start_up: StrictStr


class Demands(DocumentPart):
    """All that workflows ask of the fleet."""

    version: Annotated[StrictInt, Field(ge=VERSION, le=VERSION)]
    cache: CacheFolders
    images: tuple[ImageUse, ...] = ()
    demands: tuple[Demand, ...] = ()

    def labels_used(self) -> dict[str, tuple[str, ...]]:
        """Runner label to the workflow files whose jobs ask for it; GitHub's own labels left out."""
        used: dict[str, set[str]] = {}
        for demand in self.demands:
            for label in () if demand.hosted else demand.telling:
                used.setdefault(label, set()).add(demand.file)
        return {label: tuple(sorted(files)) for label, files in sorted(used.items())}

    def to_plain(self) -> dict[str, Any]:
        """Plain data for a file; what is not said is left out."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def read_demands(content: bytes, source: str = FILE) -> Demands:
    """The demands that a file holds; ConfigError where it is none of ours."""
    document = yamlfile.read(yamlfile.decoded(content, source), source, _FORM)
    try:
        if document.problems:
            raise ConfigError(document.problems)
        return Demands.model_validate(document.data)
    except ValidationError as error:
        raise ConfigError(_problems(error, document.lines, source)) from error


def load_demands(root: Path) -> Demands | None:
    """The demands of a checkout, None where it has no such file; ConfigError where it cannot be read."""
    path = root / FILE
    return read_demands(path.read_bytes()) if path.is_file() else None


def _problems(error: ValidationError, lines: Mapping[yamlfile.YamlPath, int], source: str) -> Iterator[Problem]:
    for each in error.errors(include_url=False, include_input=False):
        path = tuple(each["loc"])
        known = path
        while known and known not in lines:
            known = known[:-1]
        line = f":{lines[known]}" if known in lines else ""
        yield Problem(f"{source}{line} {yamlfile.render(path)}".rstrip(), each["msg"], "the file is generated", WRITE)
