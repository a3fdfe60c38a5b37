"""Cloud Build: triggers, connections and builds, which run in `bench.builds`."""
