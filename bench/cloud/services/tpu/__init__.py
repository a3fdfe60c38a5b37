"""Cloud TPU: nodes, queued resources, and the chips that they hold."""
