"""The bench: an engine, its providers and a Google Cloud on loopback, with nothing to install and no credentials.

The tool finds it by `bench.tool`. Nothing that is deployed imports it.
"""
