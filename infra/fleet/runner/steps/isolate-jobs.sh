#!/bin/bash
# Keeps jobs from all that is not theirs, before anything of anybody's runs: isolation.sh, told who the slice's hosts are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"

hosts=()
addresses=$(workers)
if [[ $addresses == *$'\n'* ]]; then mapfile -t hosts <<<"$addresses"; fi
bash "$here/isolation.sh" "$runner_user" "${hosts[@]}"
