# Says for one commit how old workflows ended beside the new ones: in the run's summary, and in one comment of the pull
# request, edited in place. Fails once the last day of the old ones is over.
#
# PAIRS is [{"new": FILE, "old": [FILE, ...]}, ...]. The commit may be a fork's, which chooses the names of its jobs: what
# could mean something in a comment is taken out of them.
mark='<!-- tidepool:legacy-comparison -->'
folder=$(mktemp -d)
here=repos/$GITHUB_REPOSITORY

# The newest run of each file.
gh api --paginate "$here/actions/runs?head_sha=$SHA&event=$EVENT&per_page=100" |
  jq --slurp --argjson pairs "$PAIRS" '
    [$pairs[] | .new, .old[]] as $files
    | [.[].workflow_runs[] | {id, status, conclusion, run_started_at,
        file: (.path | split("@")[0] | ltrimstr(".github/workflows/"))} | select(.file | IN($files[]))]
    | group_by(.file) | map(max_by(.id))' >"$folder/runs"

jq '.[].id' "$folder/runs" | while read -r run; do
  gh api --paginate "$here/actions/runs/$run/jobs?per_page=100"
done | jq --slurp '[.[].jobs[]]' >"$folder/jobs"

jq --null-input --raw-output --slurpfile runs "$folder/runs" --slurpfile jobs "$folder/jobs" --argjson pairs "$PAIRS" '
  def harmless: gsub("[^A-Za-z0-9 .,_()/=+-]"; "?") | .[:60];
  def time: if . < 90 then "\(. | round) s" else "\(. / 60 | round) min" end;
  def ended: .status == "completed";
  def told($jobs):
    .id as $id | [$jobs[] | select(.run_id == $id and .conclusion != "skipped" and .completed_at != null)] as $jobs
    | {file, ended: ended, result: (.conclusion // .status),
       count: ($jobs | length), good: ([$jobs[] | select(.conclusion == "success")] | length),
       waited: ([$jobs[] | (.started_at | fromdate) - (.created_at | fromdate)] | max // 0),
       took: (if $jobs == [] then 0 else ([$jobs[].completed_at | fromdate] | max) - (.run_started_at | fromdate) end),
       ran: ([$jobs[] | (.completed_at | fromdate) - (.started_at | fromdate)] | add // 0),
       bad: [$jobs[] | select(.conclusion != "success") | "\(.name | harmless) (\(.conclusion))"]};
  def row($side): "| `\(.file)` | \($side) | \(.result) | \(.good) of \(.count) | \(.waited | time) | \(.took | time) | \(.ran | time) |";
  def verdict($old; $new):
    if $old == [] then "no old one ran"
    elif $new == null then "**the new one did not run**"
    elif [$old[], $new] | all(.ended) | not then "not all have ended"
    elif ([$old[].result] | all(. == "success")) == ($new.result == "success") then "the results agree"
    else "**the results differ**" end;
  [$runs[0][] | told($jobs[0])] as $told
  | $pairs[]
  | .new as $file | .old as $files
  | ([$told[] | select(.file == $file)] | first) as $new
  | [$told[] | select(.file | IN($files[]))] as $old
  | select($new != null or $old != [])
  | "### `\($file)`: \(verdict($old; $new))", "",
    "| Workflow | | Result | Jobs that succeeded | Longest wait | From start to end | All jobs together |",
    "|---|---|---|---|---|---|---|",
    ($old[] | row("old")), ($new | values | row("new")), "",
    ([$old[], ($new | values)][] | select(.bad != []) | "- `\(.file)`: \(.bad[:10] | join(", "))"), ""
  ' >"$folder/told"

{
  echo "$mark"
  echo "## Old and new workflows at ${SHA:0:12}"
  echo
  cat "$folder/told"
  echo "The old workflows run beside the new ones up to $UNTIL."
} >"$folder/comment"
tail -n +2 "$folder/comment" >>"$GITHUB_STEP_SUMMARY"

if [ "$EVENT" = pull_request ]; then
  # A pull request that has moved on has another head, and another run of this to speak for it.
  gh api --paginate "$here/pulls?state=open&per_page=100" |
    jq --raw-output '.[] | select(.head.sha == env.SHA) | .number' | while read -r pull; do
    gh api --paginate "$here/issues/$pull/comments?per_page=100" |
      jq --slurp --arg mark "$mark" '[.[][] | select(.user.login == "github-actions[bot]")
        | select(.body | startswith($mark))] | min_by(.id) // empty' >"$folder/mine"
    if [ ! -s "$folder/mine" ]; then
      gh api --silent --method POST "$here/issues/$pull/comments" --field "body=@$folder/comment"
    elif ! jq --exit-status --rawfile body "$folder/comment" '.body == ($body | rtrimstr("\n")) or .body == $body' \
      "$folder/mine" >/dev/null; then
      gh api --silent --method PATCH "$here/issues/comments/$(jq .id "$folder/mine")" --field "body=@$folder/comment"
    fi
  done
fi

if [[ "$(date --utc +%F)" > "$UNTIL" ]]; then
  echo "::error::the old workflows were to run up to $UNTIL; delete $FILES, or write a later day into legacy.until"
  exit 1
fi
