# Finds the run that planned this commit's tree when it was reviewed; none where nothing proves that it was.
#
# Anybody who can push a branch can leave an artifact of any name here, and any fork's run can. So a run counts only if it
# is of plan.yaml, by a pull request of this repository's own branch, finished well, and of the very head that was merged as
# this commit into main: its version of plan.yaml is then one that people reviewed. Repositories are compared by number, since
# names can be taken by others. A request that fails ends the job.
tree=$(git rev-parse 'HEAD^{tree}')
if [ -z "$PINNED" ]; then
  echo "::warning::Google trusts this repository by its name alone, and somebody else may take that name after a move. Next: write repository_id: \"$REPOSITORY_ID\" below tidepool:github"
elif [ "$PINNED" != "$REPOSITORY_ID" ]; then
  echo "::error::this repository has the number $REPOSITORY_ID, and tidepool:github.repository_id says $PINNED"
  exit 1
fi
api=repos/$GITHUB_REPOSITORY
ours() { jq -r --argjson ours "$REPOSITORY_ID" --arg sha "$GITHUB_SHA" --arg head "${head-}" --arg branch "${branch-}" "$1"; }

# reviewed: finds head, branch and run.
# shellcheck disable=SC2016 # variables in single quotes are jq's
reviewed() {
  merged=$(gh api "$api/commits/$GITHUB_SHA/pulls?per_page=100" | ours '
    [.[] | select(.merged_at != null and .merge_commit_sha == $sha and .base.ref == "main"
                  and .base.repo.id == $ours and .head.repo.id == $ours)]
    | if length == 1 then "\(.[0].head.sha) \(.[0].head.ref)" else "" end')
  head=${merged%% *}
  branch=${merged#* }
  run=''
  if [ -n "$head" ]; then
    # The same commit put forward for another branch would be planned by that branch's plan.yaml.
    elsewhere=$(gh api --method GET "$api/pulls" -f state=all -f per_page=100 -f "head=${GITHUB_REPOSITORY%%/*}:$branch" | ours '
      [.[] | select(.head.sha == $head and .base.ref != "main")] | length')
    runs=$(gh api "$api/actions/artifacts?per_page=100&name=$ARTIFACT$tree" | ours '
      [.artifacts[] | select((.expired | not) and .workflow_run.head_sha == $head
                             and .workflow_run.repository_id == $ours and .workflow_run.head_repository_id == $ours)]
      | sort_by(.created_at) | .[].workflow_run.id')
    for each in $runs; do
      said=$(gh api "$api/actions/runs/$each" | ours '
        (.path | split("@")[0]) == ".github/workflows/plan.yaml" and .event == "pull_request" and .conclusion == "success"
        and .head_sha == $head and .head_branch == $branch and .repository.id == $ours and .head_repository.id == $ours')
      if [ "$said" = true ] && [ "$elsewhere" = 0 ]; then run=$each; fi
    done
  fi
}
reviewed
printf '%s\n' "tree=$tree" "run=$run" >>"$GITHUB_OUTPUT"
