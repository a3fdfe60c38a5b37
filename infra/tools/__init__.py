"""What is no part of the domain: tools written in Go, built into the virtual environment, and locks between processes."""
