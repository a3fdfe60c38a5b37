"""What runs on a runner's VM: the bundle's files. `supervisor/` decides, shell files do what needs the machine."""
