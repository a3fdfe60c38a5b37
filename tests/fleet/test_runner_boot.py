"""What a runner VM does at boot, run for real in a sandbox: the stub of its metadata, the bundle as it is published."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.fleet.bundle import RUNNER, STUB, runner_bundle
from infra.fleet.runner.supervisor import metadata
from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.model.node import node_spec
from infra.model.stack import load_stack
from tests.fleet.sandbox import GOLDEN, HEAVY, IMAGE, NEEDED, ORDERS, TOKEN, Sandbox, sandbox
from tests.synthetic_lab import the_lab

SHELL_FILES = sorted(str(path) for path in RUNNER.rglob("*") if path.suffix in (".sh", ".env"))


@pytest.fixture
def vm(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Sandbox]:
    for name in NEEDED:
        tool(name)
    with sandbox(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    "path",
    [path for path in SHELL_FILES if not path.endswith(("lib.sh", "versions.env"))],
)
def test_every_program_stops_at_its_first_error(path: str) -> None:
    assert "\nset -euo pipefail\n" in Path(path).read_text()


def test_the_stub_is_small_and_says_the_same_on_every_vm() -> None:
    assert len(STUB.read_bytes()) < 1024, "the stub stands in the metadata and the state of every VM"


def test_a_vm_knows_what_the_stub_and_the_steps_ask_its_metadata_for() -> None:
    config = load_stack(the_lab(), "ci")
    known = set(node_spec(config, slots(config)[0]).metadata)
    paths = [*metadata.PATHS.values(), *re.findall(r"meta (attributes/[a-z-]+)", STUB.read_text())]
    asked = {path.removeprefix("attributes/") for path in paths if path.startswith("attributes/tidepool-")}
    assert asked == {f"tidepool-{name}" for name in ("bucket", "stack", "pool", "region")}
    assert asked <= known, "the rest is what Google says of every TPU VM"


def test_a_first_boot_does_every_step_in_order_and_registers_last(vm: Sandbox, update_goldens: bool) -> None:
    boot = vm.boot()
    assert boot.status == 0, boot.log
    log, calls = GOLDEN / "first-boot.log", GOLDEN / "first-boot.calls"
    if update_goldens:
        log.write_text(boot.log)
        calls.write_text("\n".join(boot.calls) + "\n")
    assert boot.log == log.read_text()
    assert sorted(boot.calls) == sorted(calls.read_text().splitlines()), "steps of a stage run side by side"
    assert boot.calls[-1] == "systemctl restart --no-block tidepool-supervisor.service"


def test_a_second_boot_repeats_nothing_that_is_done(vm: Sandbox) -> None:
    vm.boot()
    before = {path: path.stat().st_ino for path in (vm.root / "opt").rglob("*")}
    downloads = len([path for path, _ in vm.requests if path in vm.internet])
    second = vm.boot()
    assert second.status == 0, second.log
    assert {path: path.stat().st_ino for path in (vm.root / "opt").rglob("*")} == before
    assert len([path for path, _ in vm.requests if path in vm.internet]) == downloads
    assert not [call for call in second.calls if call.startswith(("git", "uv", "apt-get", "udevadm control"))]
    units = "tidepool-containerd.service tidepool-docker.service"
    assert f"systemctl start {units}" in second.calls, "what runs is not interrupted"
    assert "udevadm trigger --action=change --subsystem-match=pci" in second.calls, "sysfs forgets owners"


def test_uvs_cache_is_on_a_vm_where_images_say_that_it_is() -> None:
    said = yaml.safe_load((the_lab() / "images" / "images.yaml").read_text())["paths"]["uv_cache"]
    assert f"\nuv_cache=$root{said}\n" in (RUNNER / "lib.sh").read_text()


def test_a_recorded_image_is_pulled_once_by_digest_with_the_vms_own_identity(vm: Sandbox) -> None:
    vm.publish(images={"tpu-ci": {"us-west4": IMAGE}})
    calls = vm.boot().calls
    assert "docker login -u oauth2accesstoken --password-stdin https://us-west4-docker.pkg.dev" in calls
    assert [call for call in calls if call.startswith("docker pull")] == [
        f"docker pull -q {IMAGE.split('@')[0]}@sha256:SHA256"
    ]
    assert not [call for call in vm.boot().calls if call.startswith("docker pull")]


def test_no_token_reaches_the_log_or_a_command_line(vm: Sandbox) -> None:
    vm.publish(images={"tpu-ci": {"us-west4": IMAGE}})
    boot = vm.boot()
    assert TOKEN not in boot.log
    assert not [call for call in boot.calls if TOKEN in call]
    assert not list((vm.path / "tmp").iterdir()), "docker's login must not outlive the pull"


def test_googles_agents_keep_the_docker_that_the_image_brings() -> None:
    touched = re.findall(
        r"systemctl .*\b(?<!tidepool-)(?:docker|containerd)\b.*", (GOLDEN / "first-boot.calls").read_text()
    )
    assert not touched, "the TPU API calls a VM without them unhealthy"
    unit = (RUNNER / "tidepool-docker.service").read_text()
    for own in ("--host", "--containerd", "--data-root", "--exec-root", "--pidfile", "--bridge", "--config-file"):
        assert f"{own} " in unit, "two daemons share none of it"


def test_no_bundle_is_made_of_a_download_that_nobody_vouches_for(vm: Sandbox) -> None:
    vm.pin(RUNNER_SHA256="unresolved", UV_SHA256="unresolved")
    with pytest.raises(ConfigError) as refused:
        runner_bundle(vm.runner)
    assert [problem.subject for problem in refused.value.problems] == [
        "versions.env RUNNER_SHA256",
        "versions.env UV_SHA256",
    ]


@pytest.mark.parametrize("path", SHELL_FILES)
def test_no_request_may_hang(path: str) -> None:
    calls = [
        line
        for line in Path(path).read_text().splitlines()
        if re.search(r"\b(curl -|git clone|docker (login|pull))", line)
    ]
    endless = [line for line in calls if not re.search(r"-fsSm \d|--max-time|--speed-time|timeout \d", line)]
    assert not endless, "a peer that accepts and never answers would hold the boot for ever"


def test_a_vm_that_boots_before_the_first_publish_waits_for_it(vm: Sandbox) -> None:
    vm.refuse = 4
    boot = vm.boot()
    assert boot.status == 0, boot.log
    assert list(boot.calls)[:2] == ["sleep 15", "sleep 15"]


def test_a_bundle_whose_bytes_are_not_those_of_its_name_never_runs(vm: Sandbox) -> None:
    digest = vm.publish()
    good = vm.objects[f"runner/bundles/{digest}.tar.gz"]
    vm.objects[f"runner/bundles/{digest}.tar.gz"] = good + b"x"
    # The stub waits for a better one for ever; here its first wait ends it.
    (vm.path / "bin" / "sleep").write_text('#!/bin/bash\nkill "$PPID"\n')
    boot = vm.boot()
    assert boot.status != 0
    assert "start-up begins" not in boot.log
    assert not (vm.root / "var/lib/tidepool" / digest).exists()


def test_a_vm_that_is_made_again_boots_with_the_bundle_of_its_orders_and_not_with_one_on_trial(vm: Sandbox) -> None:
    proved = vm.bundle
    (vm.runner / "start.sh").write_text("#!/bin/bash\necho the new one\n")
    new = vm.publish()
    vm.order(image=None, bundle=proved, drain=False)
    assert "bundle SHA256" in vm.boot().log
    assert not (vm.root / "var/lib/tidepool" / new).exists()
    for orders in ({"bundle": None}, {"bundle": "no digest"}, {"bundle": "ab" * 32}):
        vm.order(**orders)
        assert vm.boot().log == "the new one\n", f"a boot never waits for what {orders} cannot give"


def test_every_pin_says_where_its_checksum_was_read() -> None:
    text = (RUNNER / "versions.env").read_text()
    for block in text.split("\n\n")[1:]:
        assert "https://" in block.splitlines()[0] + block.splitlines()[1]
        assert "(read 20" in block


A_COMMAND = "a command of it failed, see the log"
FAILURES: list[tuple[str, Callable[[Sandbox], Any], str]] = [
    ("hold-upgrades", lambda vm: vm.flag("no-systemd", "mask *"), A_COMMAND),
    ("hold-upgrades", lambda vm: (vm.flag("locked"), vm.flag("locked-for-good")), "the package lock was held for 60 s"),
    (
        "install-packages",
        lambda vm: (vm.without("iptables"), vm.flag("no-packages")),
        "gave up after 5 attempts: apt-get",
    ),
    (
        "install-docker",
        lambda vm: vm.pin(DOCKER_SHA256="0" * 64),
        "refused https://download.docker.com/docker.tgz: its SHA-256",
    ),
    ("install-docker", lambda vm: vm.flag("no-systemd", "restart tidepool-containerd*"), A_COMMAND),
    ("install-docker", lambda vm: vm.flag("no-docker"), "gave up after 5 attempts: timeout 20"),
    ("isolate-jobs", lambda vm: vm.flag("no-iptables"), A_COMMAND),
    ("pull-image", lambda vm: vm.down.add(ORDERS), "the VM's orders cannot be read"),
    ("pull-image", lambda vm: vm.flag("no-pull"), "gave up after 6 attempts: login_and_pull"),
    ("allow-reset", lambda vm: vm.flag("no-udev"), A_COMMAND),
    ("install-runner", lambda vm: vm.internet.pop("/github.com/runner.tar.gz"), "gave up after 6 attempts: curl"),
    (
        "install-runner",
        lambda vm: vm.pin(RUNNER_SHA256="0" * 64),
        "refused https://github.com/runner.tar.gz: its SHA-256",
    ),
    ("start-supervisor", lambda vm: vm.flag("no-systemd", "restart --no-block *"), A_COMMAND),
]


@HEAVY
@pytest.mark.parametrize(("step", "breaks", "reason"), FAILURES, ids=[step for step, *_ in FAILURES])
def test_a_step_that_fails_halts_the_vm_and_its_report_says_why(
    vm: Sandbox, step: str, breaks: Callable[[Sandbox], Any], reason: str
) -> None:
    breaks(vm)
    vm.publish(images={"tpu-ci": {"us-west4": IMAGE}})
    boot = vm.boot()
    assert boot.status == 1
    assert vm.report["phase"] == "halted"
    assert vm.report["reason"].startswith(f"step {step}: {reason}")
    assert [each["outcome"] for each in vm.report["boot"]][-1] == "failed"
    assert vm.report["boot"][-1]["step"] == step
    assert not [call for call in boot.calls if "tidepool-supervisor" in call and step != "start-supervisor"]


def test_every_step_that_may_not_fail_is_seen_failing() -> None:
    steps = {path.stem for path in (RUNNER / "steps").iterdir()}
    assert {step for step, *_ in FAILURES} == steps - {"warm-cache"}


def test_a_halt_is_told_also_where_the_report_cannot_be_written(vm: Sandbox) -> None:
    vm.flag("no-iptables")
    vm.down = {"reports"}
    boot = vm.boot()
    assert boot.status == 1
    assert '"event":"halted","reason":"step isolate-jobs: ' in boot.log
    assert boot.calls.count("sleep 32") == 1, "the last that is heard of a VM is tried for a minute"
