# Deletes whatever VM carries this run's label, of any attempt, in every zone that runs may use, until none is left, and
# ends the run's record where its client could not. Run twice it changes nothing. The code is infra/fleet/runs of the commit at which this action stands.
root=$GITHUB_ACTION_PATH/../..
uv venv --quiet --allow-existing "$RUNNER_TEMP/tidepool"
uv pip sync --quiet --require-hashes --python "$RUNNER_TEMP/tidepool" "$root/requirements-service.lock"
PYTHONPATH=$root exec "$RUNNER_TEMP/tidepool/bin/python" -P -m infra.fleet.runs delete
