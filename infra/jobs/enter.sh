#!/bin/sh
# What a pod of a training job runs around its program: enter.sh PROGRAM [ARGUMENT]...
#
# It waits until the TPU of the VM is free, passes the order to end on as the signal by which the program writes a
# checkpoint, and never lets a run that was told to end look as if it had done its work.
#
#   TIDEPOOL_SIGNAL   the program's checkpoint signal, without SIG
#   TIDEPOOL_SETTLE   seconds to wait before an error is told
#   TIDEPOOL_SECRETS  folder of mounted secrets: VARIABLE/value for each variable
#
# Exit codes: the program's; 143 where the pod was told to end; 170 where the TPU stays in use by another process;
# 171 where a secret cannot be read.

tpu_busy=170
secret_unreadable=171

# libtpu pins its buffers; a pod that may raise the limit has the capability for it.
# shellcheck disable=SC3045 # dash and busybox have it
ulimit -l unlimited 2>/dev/null || true

rm -rf /tmp/libtpu_lockfile /tmp/tpu_logs
waited=0
for device in /dev/vfio/[0-9]* /dev/accel[0-9]*; do
  [ -e "$device" ] || continue
  until (: <"$device") 2>/dev/null; do
    if [ "$waited" -ge 30 ]; then
      echo "$device is still in use after 30 s: this VM is unfit" >&2
      exit "$tpu_busy"
    fi
    sleep 1
    waited=$((waited + 1))
  done
done

for folder in "${TIDEPOOL_SECRETS:-/nonexistent}"/*; do
  [ -e "$folder" ] || continue
  variable=${folder##*/}
  if ! secret=$(cat "$folder/value"); then
    echo "the secret of variable $variable cannot be read" >&2
    exit "$secret_unreadable"
  fi
  export "$variable=$secret"
done

"$@" &
program=$!
ending=
trap 'ending=1; kill -s "${TIDEPOOL_SIGNAL:-TERM}" "$program" 2>/dev/null' TERM INT

# A signal interrupts wait, so it is asked again until the program is gone.
wait "$program"
code=$?
while kill -0 "$program" 2>/dev/null; do
  wait "$program"
  code=$?
done

# One host of a slice that is preempted breaks the programs of all others. They wait with their errors, so that the
# preemption is seen first and the restart does not count as a failure.
if [ "$code" -ne 0 ] && [ -z "$ending" ]; then
  sleep "${TIDEPOOL_SETTLE:-0}" &
  wait $!
fi
# A program that ends with 0 because it was told to has written a checkpoint, and has not finished.
[ -z "$ending" ] || exit 143
case $code in
  "$tpu_busy" | "$secret_unreadable") exit 1 ;; # they are ours to say
esac
exit "$code"
