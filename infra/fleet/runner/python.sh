#!/bin/bash
# python.sh boot|supervise: the bundle's own modules under the system's Python, and nothing else that is installed there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 -I -S -B -c 'import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module("supervisor", run_name="__main__", alter_sys=True)' "$here" "$1"
