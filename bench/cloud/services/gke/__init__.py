"""GKE: clusters and node pools, and the chips that nodes hold."""
