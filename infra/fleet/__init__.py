"""What acts on and records the live fleet: Google clients, the fleet bucket's records, what runners' VMs run."""
