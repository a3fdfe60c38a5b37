"""The embedded default: an engine, its provider and a cloud, with nothing to install and no credentials."""
