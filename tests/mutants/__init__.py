"""Whether the tests see it when the modules that decide are changed."""
