"""`docker buildx build` without a build: an OCI layout whose bytes follow from Dockerfile, context and arguments.

Every parent that a build is FROM must be in the registry.
"""

import hashlib
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

SKIPPED = {".git", ".venv", ".tidepool", "tests", "docs", "__pycache__"}
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def main(words):
    given = dict(pairwise(words))
    if "--output" not in given:
        return
    (folder,) = (Path(part[5:]) for part in given["--output"].split(",") if part.startswith("dest="))
    (folder / "blobs/sha256").mkdir(parents=True)
    arguments = {name: os.environ[name] for option, name in pairwise(words) if option == "--build-arg"}
    for parent in os.environ["PARENTS"].split():
        image = f"{os.environ['TIDEPOOL_REGISTRY']}/{arguments[parent.partition('=')[0]]}"
        subprocess.run([os.environ["TIDEPOOL_CRANE"], "manifest", image], check=True, stdout=subprocess.DEVNULL)
    layer = blob(folder, [arguments, files(Path(given["--file"]).parent), files(words[-1])], LAYER)
    rootfs = {"type": "layers", "diff_ids": [layer["digest"]]}
    config = blob(folder, {"architecture": "amd64", "os": "linux", "rootfs": rootfs}, CONFIG)
    manifest = blob(
        folder, {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}, MANIFEST
    )  # fmt: skip
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')


def blob(folder, content, media_type):
    """The description of a blob, which is the content as JSON: nobody unpacks a layer."""
    written = json.dumps(content, sort_keys=True).encode()
    digest = hashlib.sha256(written).hexdigest()
    (folder / "blobs/sha256" / digest).write_bytes(written)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(written)}


def files(folder):
    """The digest of each file, by its path."""
    found = {}
    for top, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name not in SKIPPED]
        for path in (Path(top, name) for name in names):
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
