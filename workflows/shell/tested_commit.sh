# Finds the commit that images of tested sources are built from: the one that was asked for where its tests were green,
# else the branch's newest whose tests were. Where there is none, it says so, and nothing of it is built.
set -- --repo "$REPOSITORY" --workflow "$TESTS" --branch "$BRANCH" --event push --status success --limit 1
if [ -n "$REVISION" ]; then
  if ! printf '%s' "$REVISION" | grep -Eqx '[0-9a-f]{40}'; then
    echo "::error::the revision is not a whole commit of 40 hexadecimal digits"
    exit 1
  fi
  set -- "$@" --commit "$REVISION"
fi
commit=$(gh run list "$@" --json headSha --jq '.[0].headSha // ""')
echo "commit=$commit" >>"$GITHUB_OUTPUT"
if [ -z "$commit" ]; then
  echo "::warning::no green run of $TESTS for ${REVISION:-any commit of $BRANCH}: no image of tested sources is built"
fi
