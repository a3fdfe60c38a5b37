"""A runner for the shell of generated jobs: programs that reach beyond the machine are recorded stand-ins."""
