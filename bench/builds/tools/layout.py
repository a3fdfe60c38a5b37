"""`docker buildx build` without a build: an OCI layout whose bytes follow from Dockerfile, context, arguments, parents.

Every image that a build is FROM must be there: parents are asked of the registry. What is FROM a parent has its layers.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

SKIPPED = {".git", ".venv", ".tidepool", "tests", "docs", "__pycache__"}
LAYER = "application/vnd.oci.image.layer.v1.tar"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


def main(arguments):
    given: dict[str, str] = {}
    build_args: dict[str, str] = {}
    words = iter(arguments[2:])
    context = Path()
    for word in words:
        if word == "--load" or "=" in word:
            continue
        if not word.startswith("--"):
            context = Path(word)
        elif word == "--build-arg":
            name = next(words)
            build_args[name] = os.environ[name]
        else:
            given.setdefault(word, next(words))
    output = dict(part.split("=", 1) for part in given.get("--output", "").split(",") if part)
    if "dest" in output:
        write(Path(output["dest"]), Path(given["--file"]), context, build_args)
    return 0


def write(folder, dockerfile, context, build_args):
    (folder / "blobs/sha256").mkdir(parents=True)
    parents = {name: build_args[name] for name in (each.partition("=")[0] for each in os.environ["PARENTS"].split())}
    layers = [layer for reference in parents.values() for layer in pulled(folder, reference)]
    made_of = {"args": build_args, "recipe": tree(dockerfile.parent), "context": tree(context)}
    layers.append(blob(folder, tar(json.dumps(made_of, sort_keys=True).encode()), LAYER))
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": build_args["CREATED"],
        "config": {"Labels": {"org.opencontainers.image.revision": build_args["REVISION"], **parents}},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(folder, json.dumps(config).encode(), CONFIG),
        "layers": layers,
    }
    index = {"schemaVersion": 2, "manifests": [blob(folder, json.dumps(manifest).encode(), MANIFEST)]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')


def pulled(folder, reference):
    """The layers of an image in the registry, put into this layout."""
    crane, here = os.environ["TIDEPOOL_CRANE"], f"{os.environ['TIDEPOOL_REGISTRY']}/{reference}"
    manifest = json.loads(subprocess.run([crane, "manifest", here], check=True, capture_output=True).stdout)
    repository = here.partition("@")[0]
    for layer in manifest["layers"]:
        content = subprocess.run(
            [crane, "blob", f"{repository}@{layer['digest']}"], check=True, capture_output=True
        ).stdout
        yield blob(folder, content, LAYER)


def blob(folder, content, media_type):
    digest = hashlib.sha256(content).hexdigest()
    (folder / "blobs/sha256" / digest).write_bytes(content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def tar(content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("made-of.json")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def tree(folder):
    found = {}
    for top, folders, files in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in files:
            path = Path(top, name)
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
