#!/bin/bash
# Installs and starts the supervisor, which registers: hence the last step of all. A VM that was ready with another
# bundle goes on with this one from here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"

ln -sfn "$here" "$state/current"
install -D -m 0644 "$here/tidepool-supervisor.service" "$root/etc/systemd/system/tidepool-supervisor.service"
systemctl daemon-reload
# Not waited for: this may itself run within the unit, for a new bundle.
systemctl restart --no-block tidepool-supervisor.service
