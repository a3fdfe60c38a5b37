"""What acts on and records the live fleet: Google clients, the fleet bucket's records, the runner's shell files."""
