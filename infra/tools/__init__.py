"""What is no part of the domain: tools written in Go that are built here, and locks between processes."""
