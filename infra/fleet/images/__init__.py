"""Images as they are: the record in the fleet bucket, what registries answer, and what VMs are told to pull."""
