"""Tools written in Go: which versions, by `go.mod` and `go.sum`, and their building into the virtual environment."""
