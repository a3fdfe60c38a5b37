"""What a person or a program can ask for, as functions over ports: no command line, no printing."""
