"""How plans, running work and pools look to people. Nothing here decides or calls."""
