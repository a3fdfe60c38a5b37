"""Artifact Registry: repositories, and the images in them."""
