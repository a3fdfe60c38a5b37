"""Examples of rules over machines, images, caches, scripts and versions."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflows.rule_examples.files import WAITS, Data, Example, alone, run, uses, workflow
from workflows.checks import Known, TestCase

LABELS = "--labels=tidepool-run=1,tidepool-expires=2"
CREATE = f"gcloud compute tpus tpu-vm create vm --zone z {LABELS}"
DELETE = "gcloud compute tpus tpu-vm delete vm --zone z --quiet"
QUEUED = f"gcloud compute tpus queued-resources create vm --zone z {LABELS}"
TRAPPED = f"end() {{ {DELETE}; }}\ntrap end EXIT INT TERM\n{CREATE}\nmake train"
PARENT = "docker buildx build -f parent/Dockerfile --iidfile p -t ghcr.io/lab/parent:v1 --push ."
CHILD = "docker buildx build -f child/Dockerfile --iidfile c -t ghcr.io/lab/child:v1 --push ."
DOCKERFILES = Known(
    repository="lab/mono",
    dockerfiles={"child/Dockerfile": ("ghcr.io/lab/parent:v1",), "parent/Dockerfile": ("debian:bookworm",)},
    bases=frozenset(("ghcr.io/other/base",)),
)
TESTS = Known(
    repository="lab/mono", tests=(TestCase("tests/test_a.py"), TestCase("tests/test_b.py", frozenset(("slow",))))
)
FIVE = "us-central1-docker.pkg.dev/p/r/i:v1", "europe-west4-docker.pkg.dev/p/r/i:v1"
BUILD = "docker buildx build -t ghcr.io/lab/a:v1 --push ."


def machine(*steps: Data, **job: object) -> Data:
    return workflow(*steps, job=job, **WAITS)


def image(*steps: Data) -> Data:
    return workflow(*steps, **WAITS)


def cached(path: str, *steps: Data, key: str = "uv-${{ hashFiles('uv.lock') }}", **inputs: str) -> Data:
    return workflow(uses("actions/cache", path=path, key=key, **inputs), *steps)


def halves(saved: str, restored: str, path: str = "~/.cache/uv", other: str = "") -> Data:
    """A job that saves a cache and one that restores it."""
    save = [run("uv sync"), uses("actions/cache/save", path=path, key=saved)]
    restore = [uses("actions/cache/restore", path=other or path, key=restored), run("uv sync")]
    return workflow(jobs={"save": {"steps": save}, "restore": {"steps": restore}})


OUTCOMES: Mapping[str, Example] = {
    "machine-deleted": Example(
        bad=alone(
            machine(run(CREATE)),
            machine(run(CREATE), run(DELETE)),
            machine(run(f"if ! timeout -k 5 60 {CREATE} & then exit 1; fi")),
            machine(run(CREATE), {"if": "failure()", "run": DELETE}),
            machine(run(CREATE), {"if": "${{ !cancelled() }}", "run": DELETE}),
            machine(run(QUEUED), {"if": "always()", "run": DELETE}),
            machine(run(f"python infra/launch.py --tpu_name vm {LABELS}")),
            machine(run(f"trap '{DELETE}' EXIT\n{CREATE}")),
            machine(run(CREATE.replace("gcloud", "gcloud --project=p")), run("echo made")),
            machine({"if": "always()", "run": DELETE}, run(CREATE)),
            machine(run(CREATE), {"if": "always()", "run": f"# {DELETE}\necho {DELETE}"}),
            machine(run(CREATE), {"if": "always() && github.event_name == 'push'", "run": DELETE}),
            machine(run(CREATE), {"if": "success() || failure()", "run": DELETE}),
        ),
        good=alone(
            machine(run(CREATE), {"if": "always()", "run": DELETE}),
            machine(
                run(CREATE), {"if": "${{ always() && vars.KEEP == '' }}", "run": f"for z in a b; do\n  {DELETE}\ndone"}
            ),
            machine(run(TRAPPED)),
            machine(run(CREATE), {"if": "success() || failure() || cancelled()", "run": DELETE}),
            machine(run(f"echo '{CREATE}'")),
            workflow(
                jobs={
                    "train": {"steps": [run(CREATE)]},
                    "delete": {"needs": "train", "if": "always()", "steps": [run(DELETE)]},
                },
                **WAITS,
            ),
        ),
    ),
    "machine-ends": Example(
        bad=alone(machine(run("gcloud compute tpus tpu-vm create vm"), {"if": "always()", "run": DELETE})),
        good=alone(
            machine(run(CREATE), {"if": "always()", "run": DELETE}),
            machine(
                run("gcloud compute instances create vm --max-run-duration=1h"),
                {"if": "always()", "run": "gcloud compute instances delete vm"},
            ),
        ),
    ),
    "parent-is-pushed": Example(
        bad=alone(
            image(run(CHILD)),
            image(run(CHILD), run(PARENT)),
            image(run(f"{CHILD} --build-arg BASE_IMAGE=ghcr.io/old/parent:v1"), run(PARENT)),
        ),
        good=alone(
            image(run(PARENT), run(CHILD)),
            image(run(f"{CHILD} --build-arg BASE_IMAGE=ghcr.io/other/base:v1")),
        ),
        known=DOCKERFILES,
    ),
    "digest-kept": Example(
        bad=alone(
            image(run("docker buildx build -t ghcr.io/lab/a:latest --push .")),
            image(run("docker build -t ghcr.io/lab/a . && docker push ghcr.io/lab/a")),
            image(uses("docker/build-push-action", push=True, tags="ghcr.io/lab/a:latest")),
            workflow(job={"container": "ghcr.io/lab/a:latest"}),
            workflow({"uses": "docker://ghcr.io/lab/tool:latest"}),
            workflow(job={"services": {"store": {"image": "redis:latest"}}}),
            image(uses("docker/build-push-action", push=True, tags="ghcr.io/lab/a:${{ github.ref_name }}")),
            workflow(run("docker run ghcr.io/lab/a")),
            workflow(run("docker run --rm us-central1-docker.pkg.dev/p/r/i:latest make")),
        ),
        good=alone(
            image(run("docker buildx build -t ghcr.io/lab/a:latest --metadata-file m.json --push .")),
            image(run("docker buildx build -t ghcr.io/lab/a:latest .")),
            image(
                {**uses("docker/build-push-action", push=True, tags="ghcr.io/lab/a:latest"), "id": "b"},
                run('echo "$DIGEST"', env={"DIGEST": "${{ steps.b.outputs.digest }}"}),
            ),
            workflow(job={"container": {"image": f"ghcr.io/lab/a@sha256:{'ab' * 32}"}}),
            workflow({"uses": f"docker://ghcr.io/lab/tool@sha256:{'ab' * 32}"}),
        ),
    ),
    "regions-agree": Example(
        bad=alone(
            image(uses("docker/build-push-action", push=True, tags="\n".join(FIVE))),
            image(run(f"docker buildx build -t {FIVE[0]} -t {FIVE[1]} --push .")),
            image(run('for r in a b; do\n  docker push "$r-docker.pkg.dev/p/r/i:v1"\ndone')),
            image(run("docker push ${{ matrix.region }}-docker.pkg.dev/p/r/i:v1")),
        ),
        good=alone(
            image(uses("docker/build-push-action", push=True, tags=FIVE[0])),
            image(run(f"docker push {FIVE[0]}"), run(f"crane copy {FIVE[0]} {FIVE[1]}")),
        ),
    ),
    "cache-read": Example(
        bad=alone(
            cached("~/.cache/uv", run("uv sync"), key="uv-${{ github.sha }}"),
            workflow(run("uv sync"), uses("actions/cache/save", path="~/.cache/uv", key="uv-${{ github.sha }}")),
            image(run(f"{BUILD} --cache-to type=local,dest=/tmp/layers")),
            image(
                run(f"{BUILD} --cache-to type=gha,scope=a --cache-from type=gha,scope=a --cache-to type=gha,scope=b")
            ),
        ),
        good=alone(
            cached("~/.cache/uv", run("uv sync")),
            cached("~/.cache/uv", run("uv sync"), key="uv-${{ github.sha }}", **{"restore-keys": "uv-"}),
            halves("uv-${{ github.run_id }}", "uv-${{github.run_id}}"),
            halves("uv-${{ github.sha }}", "uv-${{ github.event.pull_request.base.sha }}"),
            workflow(
                uses("actions/cache/restore", path="~/.cache/uv", key="uv-${{ github.event.pull_request.base.sha }}"),
                run("uv sync"),
                uses("actions/cache/save", path="~/.cache/uv", key="uv-${{ github.sha }}"),
            ),
            image(run(f"{BUILD} --cache-to type=gha --cache-from type=gha")),
        ),
    ),
    "cache-saved": Example(
        bad=alone(
            workflow(uses("actions/cache/restore", path="~/.cache/uv", key="uv"), run("uv sync")),
            image(run(f"{BUILD} --cache-from type=registry,ref=ghcr.io/lab/a:layers")),
        ),
        good=alone(
            halves("uv-${{ hashFiles('a') }}", "uv-${{hashFiles('b')}}"),
            halves("uv-${{ github.sha }}", "uv-${{ github.ref }}"),
        ),
    ),
    "cache-in-place": Example(
        bad=alone(
            cached("/tmp/.buildx-cache", run("make")),
            cached("~/.cache/uv", run("pip install a")),
            cached("~/.cache/uv", run("uv sync", env={"UV_CACHE_DIR": "/opt/uv"})),
            cached("~/.cache/uv", run("export UV_CACHE_DIR=/opt/uv\nuv sync")),
            halves("uv-${{ hashFiles('a') }}", "uv-${{ hashFiles('a') }}", other="~/.cache/uv/wheels"),
        ),
        good=alone(
            cached("~/.cache/uv", run("uv sync", env={"UV_CACHE_DIR": "~/.cache/uv"})),
            cached("/opt/uv", run("uv sync", env={"UV_CACHE_DIR": "/opt/uv"})),
            cached("/tmp/models", run("python load.py --to /tmp/models")),
            cached(".mypy_cache", run("mypy .")),
        ),
    ),
    "line-continued": Example(
        bad=alone(
            workflow(run("python train.py \\\n  --steps 10\n  --rate 1\n")),
            workflow(run("python train.py \\ \n  --rate 1\n")),
            workflow(run("python train.py \\\n  # the rate\n  --rate 1\n")),
            workflow(run("x=$(tool\n  -a b)\n")),
            workflow(run("docker run \\\n  -e A=1\n  image make\n")),
        ),
        good=alone(
            workflow(run("python train.py \\\n  --steps 10 \\\n  --rate 1\n")),
            workflow(run("python - <<EOF\n--rate 1\nEOF\necho a\n")),
            workflow(run("if a \\\n  && b; then\n  c \\\n    d\n  e\nfi\n")),
            workflow(run('case "$1" in\n  -h | --help) exit 0 ;;\n  --rate) shift ;;\nesac\n')),
            workflow(run("options=(\n  --steps 10\n  --rate 1\n)\n")),
            workflow(run('echo "\n--rate 1\n"\n')),
            workflow(run("& (./uv python find) -m venv"), job={"runs-on": "windows-2025"}),
            workflow(run("# python train.py \\ \necho a\n")),
        ),
    ),
    "pipe-fails": Example(
        bad=alone(workflow(run("uv run pytest tests | tee log"))),
        good=alone(
            workflow(run("uv run pytest tests | tee log", shell="bash")),
            workflow(run("set -euo pipefail\nuv run pytest tests | tee log")),
            workflow(run("make | sort")),
        ),
    ),
    "failure-shows": Example(
        bad=alone(
            workflow(run("pytest tests || true")),
            workflow(run("uv run python -m unittest", **{"continue-on-error": True})),
            workflow(run("timeout 9 uv run --package a --extra cpu --with b --frozen pytest tests || true")),
        ),
        good=alone(
            workflow(run("pytest tests")),
            workflow(run("grep -q a b || true")),
            workflow(run("pip install pytest || true")),
            workflow(
                run("pytest tests", id="tests", **{"continue-on-error": True}),
                {"if": "steps.tests.outcome == 'failure'", "run": "exit 1"},
            ),
        ),
    ),
    "one-version-set": Example(
        bad=alone(
            workflow(run('sed -i "s/version = \\".*\\"/version = \\"$V\\"/g" pyproject.toml')),
            workflow(run("sed -i -E 's/^version = .*/version = \"1\"/' pyproject.toml")),
            workflow(run("perl -pi -e 's/version = .*/version = 1/' pyproject.toml")),
            workflow(run("find . -name pyproject.toml | xargs sed -i 's/version = .*/version = 1/'")),
        ),
        good=alone(
            workflow(run('uv version "$V"')),
            workflow(run("sed -i '0,/^version = /s/^version = .*/version = \"1\"/' pyproject.toml")),
            workflow(run("sed -n 's/version = //p' pyproject.toml")),
        ),
    ),
    "test-runs-somewhere": Example(
        bad=alone(
            workflow(run("pytest -m 'not slow' tests")),
            workflow(run("pytest tests/unit -m slow or not slow")),
            workflow(run("pip install pytest\npytest -m 'not slow' tests")),
            workflow(run("pytest tests --ignore tests/other --ignore=tests/test_b.py")),
            workflow(run("pytest tests --collect-only")),
        ),
        good=(
            *alone(
                workflow(run("pytest tests")),
                workflow(run("pytest")),
                workflow(run("cd tests && python -m pytest ./")),
                workflow(run("pytest -q -n 2 -m 'slow or not slow'", **{"working-directory": "tests"})),
            ),
            (workflow(run("pytest -m 'not slow' tests")), workflow(run("pytest -m slow tests"), name="Nightly")),
        ),
        known=TESTS,
    ),
}
