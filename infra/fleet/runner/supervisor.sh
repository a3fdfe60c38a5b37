#!/bin/bash
# Serves one job after another: supervisor/supervise.py. Of this name because units of every age start a bundle by it.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
exec bash "$here/python.sh" supervise
