"""Compute Engine: networks, routers, addresses, firewall rules and resource policies."""
