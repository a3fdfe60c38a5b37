"""What an edit means: two readings of a stack file, or an engine's plan, to text, markdown and JSON. Calls nobody."""
