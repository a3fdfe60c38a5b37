#!/bin/bash
# make-key.sh NAME: a key pair of the slice's folder. Prints the public half; the private one is for the container's user
# alone.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

file=$state/slice/$1
ssh-keygen -q -t ed25519 -N '' -C '' -f "$file" </dev/null
chown "$runner_user:$runner_user" "$file"
read -r kind key _ <"$file.pub"
printf '%s %s\n' "$kind" "$key"
