# Gives the package the version BASE.devN, N being the count of commits before this one: uv writes it into [project],
# and into no other table.
base=$(uv version --short --package "$PACKAGE" --frozen)
uv version "${base%%.dev*}.dev$(git rev-list --count HEAD)" --package "$PACKAGE" --frozen
