# Refuses where GitHub does not protect both environments. GitHub makes an environment that is missing when a job first
# names it, and makes it without protection: the job then runs without an approval.
# https://docs.github.com/en/rest/deployments/environments (read 2026-11-22)
refused=''
refuse() {
  echo "::error::$1. Next: docs/github.md#plan-apply-drift"
  refused=yes
}

# keeps FILTER: whether what GitHub answered holds this; an empty answer holds nothing.
keeps() { [ "$(printf '%s' "$found" | jq "$1")" = true ]; }

for name in $ENVIRONMENTS; do
  if ! found=$(gh api "repos/$GITHUB_REPOSITORY/environments/$name"); then
    refuse "the environment $name is not there, or GitHub does not show it"
    continue
  fi
  if [ "$name" = "$ASKING" ] && ! keeps '[.protection_rules[]? | select(.type == "required_reviewers") | .reviewers[]?] | length > 0'; then
    refuse "the environment $name has no required reviewers, so its jobs run without an approval"
  fi
  if ! keeps '.deployment_branch_policy.custom_branch_policies == true'; then
    refuse "the environment $name does not name the branches that deploy"
  elif ! found=$(gh api "repos/$GITHUB_REPOSITORY/environments/$name/deployment-branch-policies?per_page=100"); then
    refuse "the branches of the environment $name cannot be read"
  elif ! keeps '[.branch_policies[] | "\(.type // "branch") \(.name)"] == ["branch main"]'; then
    refuse "the environment $name lets other branches than main deploy"
  fi
done
[ -z "$refused" ]
