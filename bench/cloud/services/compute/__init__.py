"""Compute Engine: networks, routers, firewall rules and resource policies."""
