"""Builders of images that a machine may have: docker with BuildKit, else Debian's buildah. Nothing is pushed.

Owns what a builder is asked to build (an image's recipe, its context and every build argument that a builder service
takes from its checkout) and how each is called for a build, for a look at what came out and for a smoke test in it. The
pipeline that scans, pushes and records is another matter (`images/steps`), as are bases, downloads and folders of uv
(`infra.model.images.steps`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from infra.model.errors import ConfigError, Problem
from infra.model.images.pins import Pins
from infra.model.images.spec import DOCKERFILE, Image, ImageSpec
from infra.model.images.steps import CHECKS, STEPS_FOLDER, build_args, parent_argument

CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
"""Where Debian's tools look for certificates."""
BASH = ("/bin/bash", "-s")
SHOWN = 30
"""Lines of a failed command that an error repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One build. target: the stage to end at, None for the whole image."""

    image: str
    recipe: Path
    context: Path
    arguments: Mapping[str, str]
    target: str | None = None

    @property
    def tag(self) -> str:
        """The name that the image gets on this machine."""
        stage = f"-{self.target}" if self.target else ""
        return f"localhost/tidepool/{self.image}:built{stage}"


def order(
    root: Path,
    spec: ImageSpec,
    pins: Pins,
    image: Image,
    *,
    context: Path | None = None,
    images: Mapping[str, str] | None = None,
    target: str | None = None,
) -> Order:
    """The order for an image of the checkout `root`.

    context: a checkout of the image's own repository; this one where the image reads this one. images: build arguments
    that name images (BASE_IMAGE, PARENT_IMAGE), in place of what is pinned. target: a stage; downloads that only other
    stages take need no checksum then. Raises ConfigError with every problem.
    """
    given, folder = dict(images or {}), root / image.folder
    if context is None and image.context.repository == spec.recipes:
        context = root
    problems = [
        Problem(
            f"{image.name} {parent_argument(image, each)}", "", "an image is built from its parent", f"{each} first"
        )
        for each in image.parents
        if parent_argument(image, each) not in given
    ]
    if context is None or not context.is_dir():
        rule = f"the build reads a checkout of {image.context.repository}"
        problems.append(Problem(f"{image.name} context", str(context or ""), rule, "the folder of such a checkout"))
    if problems or context is None:
        raise ConfigError(problems)
    bases = [pin for argument, pin in image.bases.items() if argument not in given]
    pins.insist([*bases, *(() if target else image.downloads)])
    arguments = {**build_args(spec, pins, image), **given, **_checkout(context, image)}
    return Order(image=image.name, recipe=folder, context=context, arguments=arguments, target=target)


def _checkout(context: Path, image: Image) -> dict[str, str]:
    """Commit and time of the checkout; where git knows none, the start of Unix time, as an honest unknown."""
    command = ["git", "-C", str(context), "log", "-1", "--format=%H %ct"]
    try:
        shown = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    except FileNotFoundError:  # a machine without git
        shown = ""
    revision, seconds = shown.split() if shown else ("unknown", "0")
    return {
        "CREATED": datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "REVISION": revision,
        "SOURCE": f"https://github.com/{image.context.repository}",
        "SOURCE_DATE_EPOCH": seconds,
    }


Listener = Callable[[str], object]


class BuildError(Exception):
    """A build or a smoke test failed; the message says which and what it printed last."""


@dataclass(frozen=True, slots=True)
class Built:
    """An image on this machine. `size_bytes` is unpacked, its base included; `seconds` what the build took."""

    image: str
    tag: str
    image_id: str
    size_bytes: int
    layers: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Docker:
    """BuildKit behind docker's own client."""

    name: str = "docker buildx"

    def build(self, order: Order, *, cached: bool = True, listen: Listener = str) -> Built:
        """The built image; `cached=False` takes no layer of an earlier build. Each line of output goes to `listen`.

        Raises BuildError, as `smoke` does.
        """
        fresh = () if cached else ("--no-cache",)
        command = ("docker", "buildx", "build", "--load", *fresh, *_common(order), str(order.context))
        seconds = _timed(command, order, self.name, listen)
        found = json.loads(output(("docker", "image", "inspect", order.tag)))[0]
        return Built(order.image, order.tag, found["Id"], found["Size"], len(found["RootFS"]["Layers"]), seconds)

    def smoke(self, built: Built, script: Path) -> None:
        """Run the script in the image, as the image's user and without network."""
        command = ("docker", "run", "--rm", "--interactive", "--network", "none", "--entrypoint", BASH[0])
        _smoke((*command, built.tag, *BASH[1:]), built, script)


@dataclass(frozen=True, slots=True)
class Buildah:
    """Debian's buildah as root, without daemon: chroot isolation on overlay storage.

    Version 1.28 knows no `Dockerfile.dockerignore` and pulls from no registry that the machine does not reach. A
    machine whose requests leave through a certificate authority of its own (SSL_CERT_FILE) lends its bundle to the
    build's commands; it is mounted and never part of a layer.
    """

    name: str = "buildah"
    command: tuple[str, ...] = ("buildah", "--storage-driver", "overlay")

    def build(self, order: Order, *, cached: bool = True, listen: Listener = str) -> Built:
        ignored = order.recipe / f"{DOCKERFILE}.dockerignore"
        options = ("--isolation", "chroot", "--network", "host", "--format", "oci", "--ignorefile", str(ignored))
        options += ("--layers",) if cached else ("--layers", "--no-cache")
        if bundle := os.environ.get("SSL_CERT_FILE"):
            options += ("--volume", f"{bundle}:{CA_BUNDLE}:ro")
        command = (*self.command, "build", *options, *_common(order), str(order.context))
        seconds = _timed(command, order, self.name, listen)
        inspected = json.loads(output((*self.command, "inspect", "--type", "image", order.tag)))
        layers = inspected["OCIv1"]["rootfs"]["diff_ids"]
        return Built(
            order.image, order.tag, f"sha256:{inspected['FromImageID']}", self._size(order.tag), len(layers), seconds
        )

    def smoke(self, built: Built, script: Path) -> None:
        with self._container(built.tag) as container:
            # chroot isolation shares the machine's network, so the command gets a network namespace of its own.
            run = ("unshare", "--net", *self.command, "run", "--isolation", "chroot", container, "--", *BASH)
            _smoke(run, built, script)

    def _size(self, tag: str) -> int:
        """Bytes of the files, as a container sees them; a file that two names share counts once."""
        with self._container(tag) as container:
            root = output((*self.command, "mount", container)).strip()
            return int(output(("du", "--summarize", "--bytes", root)).split()[0])

    @contextmanager
    def _container(self, tag: str) -> Generator[str]:
        container = output((*self.command, "from", "--pull-never", tag)).strip()
        try:
            yield container
        finally:
            output((*self.command, "rm", container))


Builder = Docker | Buildah


def local_builder() -> Builder | None:
    """The first builder that works here: docker with buildx and a daemon, then buildah as root; None for neither."""
    if shutil.which("docker") and _works("docker", "buildx", "version") and _works("docker", "version"):
        return Docker()
    return Buildah() if shutil.which("buildah") and os.geteuid() == 0 else None


def _common(order: Order) -> tuple[str, ...]:
    """Options that both builders spell alike."""
    places = ("--file", str(order.recipe / DOCKERFILE), "--build-context", f"recipe={order.recipe}", "--tag", order.tag)
    stage = ("--target", order.target) if order.target else ()
    arguments = (text for key, value in sorted(order.arguments.items()) for text in ("--build-arg", f"{key}={value}"))
    return (*places, *stage, *arguments)


def _timed(command: Sequence[str], order: Order, builder: str, listen: Listener) -> float:
    started, last = time.perf_counter(), deque[str](maxlen=SHOWN)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        try:
            for line in running.stdout or ():
                last.append(line.rstrip())
                listen(last[-1])
        except BaseException:
            # Whoever ends this command alone, and not all of a terminal's, means the builder too.
            running.terminate()
            raise
    if running.returncode != 0:
        raise BuildError("\n".join((f"{builder} could not build {order.image}:", *last)))
    return round(time.perf_counter() - started, 1)


def _smoke(command: Sequence[str], built: Built, script: Path) -> None:
    _ran(command, f"{built.image} did not pass its smoke test", smoke_text(built.image, script))


def output(command: Sequence[str]) -> str:
    """What the command printed; BuildError where it fails."""
    return _ran(command, f"{' '.join(command)} failed")


def _ran(command: Sequence[str], trouble: str, given: str | None = None) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", input=given)
    if done.returncode != 0:
        last = (done.stdout + done.stderr).rstrip().splitlines()[-SHOWN:]
        raise BuildError("\n".join((f"{trouble}:", *last)))
    return done.stdout


def _works(*command: str) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def smoke_text(image: str, script: Path) -> str:
    """A smoke test as it goes to the image's shell: what all of them say with before it."""
    checks = script.parents[1] / Path(STEPS_FOLDER).name / CHECKS
    return f"IMAGE={image}\n{checks.read_text()}{script.read_text()}"
