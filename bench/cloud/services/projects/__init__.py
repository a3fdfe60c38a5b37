"""Projects, their services, and their grants."""
