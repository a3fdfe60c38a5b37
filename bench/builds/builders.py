"""Builders of images that a machine may have: docker with BuildKit, else Debian's buildah. Nothing is pushed.

Owns what a builder is asked to build (an image's recipe, its context and every build argument that a builder service
takes from its checkout) and how each is called for a build and for a smoke test. The
pipeline that scans, pushes and records is another matter (`images/steps`), as are bases, downloads and folders of uv
(`infra.model.images.steps`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from infra.model.errors import ConfigError, Problem
from infra.model.images.pins import Pins
from infra.model.images.spec import DOCKERFILE, Image, ImageSpec
from infra.model.images.steps import CHECKS, STEPS_FOLDER, build_args

CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
"""Where Debian's tools look for certificates."""
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
    images: Mapping[str, str],
    target: str | None = None,
) -> Order:
    """The order for an image of the checkout `root`.

    context: a checkout of the image's own repository; this one where the image reads this one. images: build arguments
    that name images (BASE_IMAGE, PARENT_IMAGE), in place of what is pinned. target: a stage; downloads that only other
    stages take need no checksum then. Raises ConfigError.
    """
    if context is None and image.context.repository == spec.recipes:
        context = root
    if context is None:
        rule = f"the build reads a checkout of {image.context.repository}"
        raise ConfigError([Problem(f"{image.name} context", "", rule, "--context FOLDER, of such a checkout")])
    bases = [pin for argument, pin in image.bases.items() if argument not in images]
    pins.insist([*bases, *(() if target else image.downloads)])
    arguments = {**build_args(spec, pins, image), **images, **_checkout(context, image)}
    return Order(image=image.name, recipe=root / image.folder, context=context, arguments=arguments, target=target)


def _checkout(context: Path, image: Image) -> dict[str, str]:
    """Commit and time of the checkout; where git knows none, the start of Unix time, as an honest unknown."""
    command = ["git", "-C", str(context), "log", "-1", "--format=%H %ct"]
    shown = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    revision, seconds = shown.split() if shown else ("unknown", "0")
    return {
        "CREATED": datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "REVISION": revision,
        "SOURCE": f"https://github.com/{image.context.repository}",
        "SOURCE_DATE_EPOCH": seconds,
    }


class BuildError(Exception):
    """A build or a smoke test failed; the message says which and what it printed last."""


@dataclass(frozen=True, slots=True)
class Built:
    """An image on this machine. seconds: what the build took."""

    image: str
    tag: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Builder:
    """How a builder is called. command: how a build begins. client: the program with options of each of its calls."""

    name: str
    client: tuple[str, ...]
    command: tuple[str, ...]

    def build(self, order: Order, say: Callable[[str], object], *, cached: bool = True) -> Built:
        """The built image; `cached=False` takes no layer of an earlier build. `say` gets each line of output.

        Raises BuildError, as `smoke` does.
        """
        options = ["--file", str(order.recipe / DOCKERFILE), "--build-context", f"recipe={order.recipe}"]
        options += ["--tag", order.tag, *(("--target", order.target) if order.target else ())]
        for key, value in sorted(order.arguments.items()):
            options += ["--build-arg", f"{key}={value}"]
        if self is BUILDAH:
            options += ["--ignorefile", str(order.recipe / f"{DOCKERFILE}.dockerignore")]
            if bundle := os.environ.get("SSL_CERT_FILE"):
                options += ["--volume", f"{bundle}:{CA_BUNDLE}:ro"]
        if not cached:
            options.append("--no-cache")
        began, last = time.perf_counter(), deque[str](maxlen=SHOWN)
        with subprocess.Popen(
            (*self.client, *self.command, *options, str(order.context)),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as running:  # fmt: skip
            try:
                for line in running.stdout or ():
                    last.append(line.rstrip())
                    say(last[-1])
            except BaseException:
                # Whoever ends this command alone, and not all of a terminal's, means the builder too.
                running.terminate()
                raise
        if running.returncode != 0:
            raise BuildError("\n".join((f"{self.name} could not build {order.image}:", *last)))
        return Built(order.image, order.tag, round(time.perf_counter() - began, 1))

    def smoke(self, built: Built, script: Path) -> None:
        """Run the script in the image, as the image's user and without network."""
        trouble, text = f"{built.image} did not pass its smoke test", smoke_text(built.image, script)
        if self is DOCKER:
            alone = ("run", "--rm", "--interactive", "--network", "none", "--entrypoint", "/bin/bash")
            output((*self.client, *alone, built.tag, "-s"), trouble, text)
            return
        container = output((*self.client, "from", "--pull-never", built.tag)).strip()
        try:
            # chroot isolation shares the machine's network, so the command gets a network namespace of its own.
            run = ("unshare", "--net", *self.client, "run", "--isolation", "chroot", container, "--")
            output((*run, "/bin/bash", "-s"), trouble, text)
        finally:
            output((*self.client, "rm", container))


DOCKER = Builder("docker buildx", ("docker",), ("buildx", "build", "--load"))
"""BuildKit behind docker's own client."""
BUILDAH = Builder(
    "buildah",
    ("buildah", "--storage-driver", "overlay"),
    ("build", "--isolation", "chroot", "--network", "host", "--format", "oci", "--layers"),
)
"""Debian's buildah as root, without daemon: chroot isolation on overlay storage.

Version 1.28 knows no `Dockerfile.dockerignore` and pulls from no registry that the machine does not reach. A machine
whose requests leave through a certificate authority of its own (SSL_CERT_FILE) lends its bundle to the build's
commands; it is mounted and never part of a layer.
"""


def local_builder() -> Builder | None:
    """The first builder that works here: docker with buildx and a daemon, then buildah as root; None for neither."""
    try:
        output(("docker", "buildx", "version"))
        output(("docker", "version"))
    except (BuildError, FileNotFoundError):
        return BUILDAH if shutil.which("buildah") and os.geteuid() == 0 else None
    return DOCKER


def output(command: Sequence[str], trouble: str = "", given: str | None = None) -> str:
    """What the command printed; BuildError where it fails. trouble: what that means. given: its standard input."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", input=given)
    if done.returncode != 0:
        last = (done.stdout + done.stderr).rstrip().splitlines()[-SHOWN:]
        raise BuildError("\n".join((f"{trouble or ' '.join(command) + ' failed'}:", *last)))
    return done.stdout


def smoke_text(image: str, script: Path) -> str:
    """A smoke test as it goes to the image's shell: what all of them say with before it."""
    checks = script.parents[1] / Path(STEPS_FOLDER).name / CHECKS
    return f"IMAGE={image}\n{checks.read_text()}{script.read_text()}"
