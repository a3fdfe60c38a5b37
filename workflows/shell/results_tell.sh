# Lets GitHub show what was found of suites: issues of the main branch, or comment and status of a pull request.
# The code is infra/operations/result_jobs.py of the commit at which this action stands, its packages those of the locks
# of that commit, by their checksums.
root=$GITHUB_ACTION_PATH/../..
uv venv --quiet --allow-existing "$RUNNER_TEMP/tidepool"
uv pip sync --quiet --require-hashes --python "$RUNNER_TEMP/tidepool" \
  "$root/requirements-service.lock" "$root/requirements-results.lock"
PYTHONPATH=$root exec "$RUNNER_TEMP/tidepool/bin/python" -P -m infra.operations.result_jobs tell
