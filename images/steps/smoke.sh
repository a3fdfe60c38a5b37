#!/bin/sh
# Runs the image's smoke test in the image as it was built, without network and without secrets.
#
#   IMAGE   its name and that of its folder
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
test=$WORKSPACE/recipes/images/$IMAGE/smoke.sh
interpreter=$(sed -n '1s/^#! *//p' "$test")
container=tidepool-smoke-$IMAGE

finish() { docker rm --force "$container" >/dev/null 2>&1 || true; }
finish
# Over standard input, because the docker daemon does not see this file system. In the background, because a shell
# heeds no signal while it waits for what runs in the foreground.
{
  printf 'IMAGE=%s\n' "$IMAGE"
  cat "$WORKSPACE/recipes/images/steps/checks.sh" "$test"
} | docker run --rm --interactive --name "$container" --network none --entrypoint "$interpreter" "tidepool/$IMAGE:built" \
  -s &
wait "$!"
log "$IMAGE passed its smoke test"
