#!/bin/sh
# Lists what is in the image (SPDX), and scans that list: a finding that has a fix and is as severe as SEVERITY fails
# the build.
#
#   IMAGE        its name
#   SEVERITY     negligible, low, medium, high or critical
#   EXCEPTIONS   a configuration of grype with the findings that are accepted today
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
result=$out/$IMAGE

syft scan "oci-dir:$result/oci" --quiet --output "spdx-json=$result/sbom.part"
mv "$result/sbom.part" "$result/sbom.spdx.json"
retry 4 grype db update --quiet
printf '%s\n' "$EXCEPTIONS" | keep "$result/grype.yaml"
if ! GRYPE_DB_AUTO_UPDATE=false grype --config "$result/grype.yaml" "sbom:$result/sbom.spdx.json" --quiet --only-fixed --fail-on "$SEVERITY" \
  --output json --file "$result/scan.json"; then
  log "$IMAGE has findings of severity $SEVERITY or worse that a newer package mends, or could not be scanned"
  refuse "next: a newer base (./tidepool images bases --ask) or package, or an entry of exceptions in images/images.yaml"
fi
