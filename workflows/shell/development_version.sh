# Gives the package the version BASE.devN, N being the count of commits before this one: uv writes it into [project],
# and into no other table.
base=$(uv version --short --package "$PACKAGE" --frozen)
# On a line of its own: in an argument, git's failure would go by, and the version would end in `dev`.
count=$(git rev-list --count HEAD)
uv version "${base%%.dev*}.dev$count" --package "$PACKAGE" --frozen
