from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.builds.builders import BUILDAH, DOCKER, Builder, BuildError, Built, Order, local_builder, order
from bench.tests.builds.pipeline_world import committed_spec
from infra.model.errors import ConfigError
from infra.model.images.pins import Pins, load_pins
from tests.synthetic_lab import the_lab

SPEC = committed_spec()
PINS = load_pins(the_lab())
RECORDING = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$*" in *" from "*) echo container ;; esac
[ -z "$FAILS" ] || case "$*" in *"$FAILS"*) echo "the reason"; exit 1 ;; esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Recorded docker, buildah and unshare on PATH; what they were called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("docker", "buildah", "unshare"):
        (folder / name).write_text(RECORDING)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("FAILS", "")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    return tmp_path / "calls"


def controller() -> Order:
    return order(the_lab(), SPEC, PINS, SPEC.image("controller"), images={"BASE_IMAGE": "localhost/base"})


def test_docker_comes_before_buildah_which_needs_root(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_builder() == DOCKER
    monkeypatch.setenv("FAILS", "version")
    for user, found in ((0, BUILDAH), (1000, None)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert local_builder() == found


def test_buildah_is_told_what_it_does_not_know_by_itself(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/own.crt")
    lines: list[str] = []
    BUILDAH.build(controller(), lines.append, cached=False)
    called = calls.read_text()
    assert f"--ignorefile {the_lab()}/images/controller/Dockerfile.dockerignore" in called
    assert "--volume /etc/own.crt:/etc/ssl/certs/ca-certificates.crt:ro" in called, "mounted, never copied"
    assert "--no-cache" in called
    (calls.parent / "bin/buildah").write_text("#!/bin/sh\nprintf 'compiling \\377\\n'\nexit 1\n")
    with pytest.raises(BuildError, match="buildah could not build controller:\ncompiling \N{REPLACEMENT CHARACTER}"):
        BUILDAH.build(controller(), lines.append)
    assert lines == ["compiling \N{REPLACEMENT CHARACTER}"]


def test_a_build_gets_every_argument_that_its_recipe_takes(calls: Path) -> None:
    DOCKER.build(controller(), print)
    called = calls.read_text()
    for name in ("BASE_IMAGE=localhost/base", "SOURCE_DATE_EPOCH=", "REVISION=", "CREATED=", "SOURCE=https://github."):
        assert f"--build-arg {name}" in called
    assert "--no-cache" not in called


def test_a_builder_is_ended_with_the_command_that_waits_for_it(calls: Path) -> None:
    ended = "trap 'echo ended >>\"$CALLS\"; exit 1' TERM; echo begun; sleep 20 & wait"
    (calls.parent / "bin" / "docker").write_text(f"#!/bin/sh\n{ended}\n")

    def stops(_: str) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        DOCKER.build(controller(), stops)
    assert calls.read_text() == "ended\n"


def smoke_test(root: Path, text: str) -> Path:
    """The smoke test of controller, below what all smoke tests say with."""
    for name, content in (("steps/checks.sh", ""), ("controller/smoke.sh", text)):
        path = root / "images" / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
    return path


@pytest.mark.parametrize("builder", [DOCKER, BUILDAH])
def test_a_smoke_test_has_no_network_and_a_failed_one_leaves_no_container(
    builder: Builder, calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, built = smoke_test(tmp_path, "exit 0\n"), Built("controller", "localhost/x", 1.0)
    builder.smoke(built, script)
    assert "--network none" in calls.read_text() or "unshare --net" in calls.read_text()
    monkeypatch.setenv("FAILS", "--net")
    with pytest.raises(BuildError, match="controller did not pass its smoke test"):
        builder.smoke(built, script)
    assert builder is DOCKER or calls.read_text().splitlines()[-1].endswith("rm container")


def test_an_order_without_context_is_refused() -> None:
    with pytest.raises(ConfigError, match="levanter-incremental context"):
        order(the_lab(), SPEC, PINS, SPEC.image("levanter-incremental"), images={"PARENT_IMAGE": "localhost/base"})


def test_what_is_unresolved_is_refused_unless_the_target_stage_does_without(tmp_path: Path) -> None:
    runner = PINS.download("github-runner").model_copy(update={"sha256": "unresolved"})
    pins: Pins = PINS.model_copy(update={"downloads": {**PINS.downloads, "github-runner": runner}})
    image, base = SPEC.image("tpu-ci"), {"BASE_IMAGE": "localhost/base"}
    with pytest.raises(ConfigError, match="unresolved"):
        order(the_lab(), SPEC, pins, image, context=tmp_path, images=base)
    assert order(the_lab(), SPEC, pins, image, context=tmp_path, images=base, target="assembled").tag.endswith(
        "-assembled"
    )


def test_a_folder_that_is_no_checkout_is_built_as_of_an_unknown_revision(tmp_path: Path) -> None:
    image, base = SPEC.image("tpu-ci"), {"BASE_IMAGE": "localhost/base"}
    arguments = order(the_lab(), SPEC, PINS, image, context=tmp_path, images=base).arguments
    assert (arguments["REVISION"], arguments["SOURCE_DATE_EPOCH"]) == ("unknown", "0")
