"""What the project refuses or warns of: rules as plain objects over stack files and over resources."""
