"""Run uv with the index, certificates and proxy that pip is configured with: `python like_pip.py UV ARGUMENT...`.

The launcher calls this with a Python that has pip and none of this project's packages. uv reads neither pip.conf nor
pip's variables, so a company's mirror that works for pip would be unknown to it.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping

VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
    "proxy": ("ALL_PROXY", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
}
"""By pip's name of a setting: uv's variable, and what separates several values there."""
SECTIONS = ("global", "install", ":env:")
"""Where pip finds a setting; a later one wins."""


def uv_settings(listed: str, environ: Mapping[str, str]) -> dict[str, str]:
    """uv's variables for what `pip config list` prints, except those that are already set for uv itself."""
    found: dict[str, str] = {}
    for section in SECTIONS:
        for line in listed.splitlines():
            key, _, value = line.partition("=")
            place, _, name = key.rpartition(".")
            if place == section and name in VARIABLES:
                variable, separator = VARIABLES[name]
                found[variable] = separator.join(str(ast.literal_eval(value)).split())
    if "UV_INDEX" in found:
        # pip takes a file from whichever index has it; the hashes of the locks make that safe.
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    own = {name for name in found if name.startswith("UV_") and name in environ}
    return {name: value for name, value in found.items() if name not in own}


if __name__ == "__main__":
    pip_config = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(pip_config, capture_output=True, text=True, check=False).stdout
    os.execve(sys.argv[1], sys.argv[1:], os.environ | uv_settings(listed, os.environ))  # noqa: S606 - uv takes over
