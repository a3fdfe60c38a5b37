"""How the list of a consumer repository's tests is made: by its own pytest, or by reading its files."""
