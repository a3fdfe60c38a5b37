"""What a TPU VM for one run does at its boot, whole: it is the VM's start-up script, of the standard library alone.

The VM is told by its metadata what to run (`tidepool-run`, docs/runs.md) and has no way in: it fetches the tree, says
how far it is, and leaves its log and results, all below a prefix of the fleet bucket that is its own. What is a
stranger's runs as the user NOBODY, kept from the VM's identity by what `tidepool-isolation` says
(infra/fleet/runner/isolation.sh).

In the simulated guest of a local cloud (TIDEPOOL_SIMULATED, its root URL) the same program runs: commands in a folder
and a network of their own in place of a container, and no image.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TIMED_OUT = 124
"""The exit code of `timeout`, and 137 where the command did not end when it was asked to."""
KILLED = 137
NOBODY = 1000
HOME = Path(os.environ.get("TIDEPOOL_RUN_HOME", "/var/lib/tidepool-run"))
SIMULATED = os.environ.get("TIDEPOOL_SIMULATED", "")
STORAGE = SIMULATED or "https://storage.googleapis.com"
SECRETS = "https://secretmanager.googleapis.com"
METADATA = "http://metadata.google.internal/computeMetadata/v1/"
LOG, WORK, TREE = HOME / "log", HOME / "work", HOME / "work" / "source"
DISKS = HOME / "disks"
LONGEST_LABEL = 16
"""Letters of the label of a file system of ext4: the disk's name, as far as it goes."""
EVERY = 0.2 if SIMULATED else 3.0
MOST_LOG, MOST_CHUNK, MOST_RESULTS = 64 << 20, 1 << 20, 256 << 20
BRIDGE = ("docker", "network", "create", "--subnet=172.30.0.0/24",
          "--opt=com.docker.network.bridge.name=tidepool0", "tidepool")  # fmt: skip


class NotBegunError(Exception):
    """The command cannot begin; nothing of it ran. phase: what ends so."""

    phase = "not-begun"


class NotInstalledError(NotBegunError):
    """What installs for the command failed."""

    phase = "not-installed"


def asked(
    url: str, *, headers: Mapping[str, str], body: bytes | None = None, method: str = "GET", seconds: float = 60.0
) -> bytes | None:
    """The answer's bytes, None for what is not there; tried again where nobody answers."""
    for left in range(5, -1, -1):
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if error.code in (403, 404):
                return None
            why = f"answered with {error.code}"
        except OSError as error:
            why = str(error)
        if left:
            time.sleep(0.1 if SIMULATED else 2.0 ** (5 - left))
    raise NotBegunError(f"{urllib.parse.urlsplit(url).netloc}: {why}")


def metadata(path: str) -> str:
    if SIMULATED:
        return json.loads((HOME / "metadata.json").read_text()).get(path.rpartition("/")[2], "")
    found = asked(METADATA + path, headers={"Metadata-Flavor": "Google"}, seconds=20.0)
    return "" if found is None else found.decode()


def identity(audience: str, worker: int) -> str:
    """A token by which Google says which machine this is, to that audience; empty where there is none."""
    with contextlib.suppress(NotBegunError):
        if SIMULATED:
            body = json.dumps({"node": metadata("node"), "worker": worker, "audience": audience}).encode()
            asked_of, headers = f"{SIMULATED}/_tidepool/identity_token", {"Content-Type": "application/json"}
            return json.loads(asked(asked_of, headers=headers, body=body, method="POST") or b'""')
        query = urllib.parse.urlencode({"audience": audience, "format": "full"})
        return metadata(f"instance/service-accounts/default/identity?{query}").strip()
    return ""


def token() -> str:
    if SIMULATED:
        return "local"
    return json.loads(metadata("instance/service-accounts/default/token"))["access_token"]


class HostRun:
    """One run on this host."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = told
        self.worker = int(metadata("instance/attributes/agent-worker-number") or 0)
        self.prefix = told["prefix"]
        self.sent, self.chunks, self.results = 0, 0, ""
        self.sending, self.log = threading.Lock(), hashlib.sha256()
        endpoints = metadata("instance/attributes/worker-network-endpoints")
        self.hosts = [each.rpartition(":")[2] for each in endpoints.split(",") if each]

    # The bucket

    def object(self, name: str) -> str:
        return f"{self.prefix}{self.worker}/{name}"

    def get(self, name: str) -> bytes | None:
        path = f"{urllib.parse.quote(self.told['bucket'])}/o/{urllib.parse.quote(name, safe='')}?alt=media"
        return asked(f"{STORAGE}/storage/v1/b/{path}", headers={"Authorization": f"Bearer {token()}"}, seconds=300.0)

    def put(self, name: str, content: bytes, kind: str = "application/octet-stream") -> None:
        query = urllib.parse.urlencode({"uploadType": "media", "name": name})
        url = f"{STORAGE}/upload/storage/v1/b/{urllib.parse.quote(self.told['bucket'])}/o?{query}"
        headers = {"Authorization": f"Bearer {token()}", "Content-Type": kind}
        if asked(url, headers=headers, body=content, method="POST", seconds=300.0) is None:
            raise NotBegunError(f"this VM may not write {name}")

    def say(self, phase: str, code: int | None = None, why: str = "") -> None:
        """With its proof as the last key, as `infra.fleet.proofs` parts the two: VMs of other runs write as the same
        account."""
        name = self.object("status.json")
        said = {"version": 1, "object": name, "phase": phase, "code": code, "why": why, "at": int(time.time()),
                "log": self.log.hexdigest(), "results": self.results}  # fmt: skip
        text = json.dumps(said, separators=(",", ":"))
        proof = identity(f"tidepool-report:{hashlib.sha256(text.encode()).hexdigest()}", self.worker)
        self.put(name, f'{text[:-1]},"proof":"{proof}"}}'.encode(), "application/json")

    def send_log(self) -> None:
        """What is new of the log, an object a piece; of a log without end the first part alone."""
        with self.sending, LOG.open("rb") as log:
            log.seek(self.sent)
            while self.sent < MOST_LOG and (piece := log.read(MOST_CHUNK)):
                self.put(self.object(f"log/{self.chunks:06d}"), piece)
                self.log.update(piece)
                self.sent, self.chunks = self.sent + len(piece), self.chunks + 1

    def keep_sending(self, ended: threading.Event) -> None:
        while not ended.wait(EVERY):
            with contextlib.suppress(NotBegunError):
                self.send_log()

    # What runs

    def isolate(self) -> None:
        """Again before everything of a stranger's: a daemon may have written rules of its own since."""
        if SIMULATED:
            return
        others = self.hosts if len(self.hosts) > 1 else []
        text = metadata("instance/attributes/tidepool-isolation")
        if run(["bash", "-s", str(NOBODY), *others], stdin=text.encode()):
            raise NotBegunError("this VM could not be isolated")

    def prepare(self) -> None:
        if not SIMULATED and self.told["image"] and self.told["contained"]:
            # Docker writes rules when it makes a network, so isolation comes after it, and before any of the tree.
            must(["systemctl", "start", "docker"])
            must(BRIDGE)
        self.isolate()
        self.mount()
        TREE.mkdir(parents=True)
        (WORK / "out").mkdir()
        for name, text in self.told["carried"].items():
            (WORK / name).write_text(text, encoding="utf-8")
        own(WORK)
        if self.told["repository"]:
            self.fetch_commit()
        elif self.told["tree"]:
            self.fetch_tree()
        own(WORK)
        if SIMULATED:
            return
        HOME.chmod(0o711)
        for device in (*Path("/dev").glob("vfio/*"), *Path("/dev").glob("accel*")):
            device.chmod(0o666)
        if image := self.told["image"]:
            host = image.partition("/")[0]
            if host.endswith(".pkg.dev"):
                login = ["docker", "login", "-u", "oauth2accesstoken", "--password-stdin", f"https://{host}"]
                must(login, stdin=token().encode())
            must(["docker", "pull", "--quiet", image])

    def mount(self) -> None:
        """Each disk of the pool below DISKS, to be read alone: the VM cannot write it, whoever is root."""
        for name in self.told["disks"]:
            (DISKS / name).mkdir(parents=True)
            if not SIMULATED:
                label = f"LABEL={name[:LONGEST_LABEL]}"
                must(["mount", "--read-only", "--options=nodev,nosuid,noexec", label, str(DISKS / name)])

    def fetch_commit(self) -> None:
        """Of a repository, as the user that is to run it: git believes what a repository says."""
        url, commit = f"https://github.com/{self.told['repository']}", self.told["commit"]
        for words in (["init", "--quiet"], ["fetch", "--quiet", "--depth=1", url, commit],
                      ["checkout", "--quiet", "--detach", "FETCH_HEAD"]):  # fmt: skip
            must([*nobody(), "git", "-C", str(TREE), *words])
        found = subprocess.run(
            [*nobody(), "git", "-C", str(TREE), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        )
        if found.stdout.strip() != commit:
            raise NotBegunError(f"{url} gave {found.stdout.strip() or 'nothing'} in place of {commit}")

    def fetch_tree(self) -> None:
        content = self.get(self.told["tree"])
        if content is None:
            raise NotBegunError("the tree that was sent is not there")
        must([*nobody(), "tar", "-C", str(TREE), "-xzf", "-"], stdin=content)

    def environment(self) -> dict[str, str]:
        told = dict(self.told["env"])
        for name, secret in self.told["secrets"].items():
            told[name] = self.secret(secret)
        return told

    def secret(self, name: str) -> str:
        url = f"{SIMULATED or SECRETS}/v1/projects/{self.told['project']}/secrets/{name}/versions/latest:access"
        found = asked(url, headers={"Authorization": f"Bearer {token()}"})
        if not found:
            raise NotBegunError(f"the secret {name} could not be read")
        return base64.b64decode(json.loads(found)["payload"]["data"]).decode()

    def command(self, words: Sequence[str], seconds: int) -> int:
        """The exit code of a command in the tree, asked to end after that time, and ended 30 seconds later."""
        environment = self.environment()
        self.isolate()
        limit = ["timeout", "--signal=TERM", "--kill-after=30", str(seconds)]
        if not self.told["image"] or SIMULATED:
            inside = {
                "HOME": str(WORK),
                "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
                "TIDEPOOL_OUT": str(WORK / "out"),
                **({"TIDEPOOL_DISKS": str(DISKS)} if self.told["disks"] else {}),
            }
            return run([*limit, *sandbox(), *words], cwd=TREE, env=inside | environment)
        if several := sorted(name for name, value in environment.items() if "\n" in value):
            raise NotBegunError(f"{', '.join(several)}: a value of several lines reaches no container; encode it")
        names = HOME / "env"
        names.touch(0o600)
        names.write_text("".join(f"{name}={value}\n" for name, value in environment.items()))
        devices = [
            f"--device={each}" for each in (*sorted(Path("/dev").glob("accel*")), Path("/dev/vfio")) if each.exists()
        ]
        common = ["docker", "run", "--rm", "--name=run", "--cap-add=SYS_RESOURCE", f"--env-file={names}", *devices,
                  "--ulimit=memlock=68719476736:68719476736"]  # fmt: skip
        # The hosts of a slice find one another on the host's network, and there the library reads which slice it is.
        apart = ["--network=host", "--shm-size=100g", "--stop-timeout=30"]
        if self.told["contained"]:
            apart = ["--network=tidepool", "--shm-size=16g", "--stop-timeout=5", f"--user={NOBODY}:{NOBODY}",
                     "--cap-drop=ALL", "--security-opt=no-new-privileges", "--env=HOME=/work"]  # fmt: skip
        inside = []
        if self.told["contained"] or self.has_tree or self.told["results"]:
            inside = [f"--volume={WORK}:/work", "--env=TIDEPOOL_OUT=/work/out"]
        if self.told["contained"] or self.has_tree:
            inside += ["--workdir=/work/source"]
        inside += [f"--volume={DISKS / name}:/disks/{name}:ro" for name in self.told["disks"]]
        inside += ["--env=TIDEPOOL_DISKS=/disks"] if self.told["disks"] else []
        return run([*limit, *common, *apart, *inside, self.told["image"], *words])

    @property
    def has_tree(self) -> bool:
        return bool(self.told["repository"] or self.told["tree"])

    def bring_back(self) -> None:
        """The results, read as who wrote them; what a link leads to outside of the tree and `out` is none of them."""
        wanted = [each if each.partition("/")[0] == "out" else f"source/{each}" for each in self.told["results"]]
        found, work = {path for each in wanted for path in WORK.glob(each)}, WORK.resolve()
        paths = sorted(path for path in found if path.resolve().is_relative_to(work))
        if not paths:
            return
        names = (str(path.relative_to(WORK)) for path in paths)
        packing = [*nobody(), "tar", "-C", str(WORK), "-czf", "-", "--", *names]
        made = subprocess.run(packing, capture_output=True, check=False)
        if made.returncode or len(made.stdout) > MOST_RESULTS:
            why = made.stderr.decode(errors="replace")[-500:] if made.returncode else f"over {MOST_RESULTS} bytes"
            raise NotBegunError(f"the results could not be packed: {why}")
        self.put(self.object("results.tar.gz"), made.stdout)
        self.results = hashlib.sha256(made.stdout).hexdigest()

    def whole(self) -> int:
        """Everything, and the exit code."""
        self.say("preparing")
        self.prepare()
        if self.told["install"]:
            self.say("installing")
            if self.command(["sh", "-ec", self.told["install"]], self.told["install_seconds"]):
                raise NotInstalledError("what installs for the command failed")
        self.say("running")
        code = self.command(self.told["command"], self.told["limit"])
        try:
            self.bring_back()
        except (NotBegunError, OSError, ValueError, RuntimeError) as error:
            print(f"no results: {error}", flush=True)
        return code


def nobody() -> list[str]:
    """What runs a program of this VM as the user of strangers, with nothing of root's."""
    if SIMULATED:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
            "env", "-i", f"PATH={os.environ['PATH']}", f"HOME={WORK}"]  # fmt: skip


def sandbox() -> list[str]:
    """Without an image: as that user; in a simulated guest, where the machine lets it, with no network but its own."""
    if not SIMULATED:
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    apart = ["unshare", "--user", "--map-current-user", "--net", "--ipc"]
    able = (
        shutil.which("unshare") and subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0
    )
    return apart if able else []


def own(folder: Path) -> None:
    if not SIMULATED:
        must(["chown", "-R", f"{NOBODY}:{NOBODY}", str(folder)])


def run(
    words: Sequence[str], *, stdin: bytes | None = None, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> int:
    """The exit code of a program whose output is the log's; a group of its own is ended with it."""
    with LOG.open("ab") as log:
        given = subprocess.PIPE if stdin is not None else subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                words, stdin=given, stdout=log, stderr=log, cwd=cwd, env=env, start_new_session=True
            )
        except OSError as error:
            log.write(f"{words[0]}: {error}\n".encode())
            return 127
        process.communicate(stdin)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def must(words: Sequence[str], *, stdin: bytes | None = None) -> None:
    if code := run(list(words), stdin=stdin):
        raise NotBegunError(f"{words[0]} ended with {code}")


def main() -> None:
    os.umask(0o077)
    HOME.mkdir(parents=True, exist_ok=True)
    this = HostRun(json.loads(metadata("instance/attributes/tidepool-run")))
    try:
        LOG.touch(exist_ok=False)
    except FileExistsError:
        # A start-up script runs at every boot; a run that was cut off by a reboot is not begun again in silence.
        this.say("not-begun", None, "the VM was started again while it ran")
        return
    output = os.open(LOG, os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    over = threading.Event()
    threading.Thread(target=this.keep_sending, args=[over], daemon=True).start()
    phase, code, why = "ended", None, ""
    try:
        code = this.whole()
    except NotBegunError as error:
        phase, why = error.phase, str(error)
        print(why, flush=True)
    except Exception as error:  # noqa: BLE001 - whatever it is, who waits is told
        phase, why = "not-begun", f"{type(error).__name__}: {error}"
        traceback.print_exc()
    over.set()
    try:
        this.send_log()
    finally:
        this.say(phase, code, why)


if __name__ == "__main__":
    main()
