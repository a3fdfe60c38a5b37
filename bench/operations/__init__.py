"""What a person or a program can ask of the local cloud of this checkout, as functions with typed results."""
