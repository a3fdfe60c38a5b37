#!/bin/bash
# Makes a TPU VM ready for jobs, at every boot and for every new bundle: supervisor/boot.py. Of this name because the stub
# in the metadata of VMs, and supervisors of every age, start a bundle by it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec bash "$here/python.sh" boot
