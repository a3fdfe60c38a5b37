# Runs a command on a TPU VM of its own: infra/fleet/runs of the commit at which this action stands, its packages by the
# lock of that commit and their checksums. It deletes the VM itself, on INT and TERM too, so it takes the shell's place.
root=$GITHUB_ACTION_PATH/../..
uv venv --quiet "$RUNNER_TEMP/tidepool"
uv pip sync --quiet --require-hashes --python "$RUNNER_TEMP/tidepool" "$root/requirements-service.lock"
PYTHONPATH=$root exec "$RUNNER_TEMP/tidepool/bin/python" -P -m infra.fleet.runs run
