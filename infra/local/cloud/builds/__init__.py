"""Builds of the local cloud from outside Google's APIs: pushes that start them, and the queue that a runner works off.

`surface` answers below `/_tidepool/builds/`; `control` is its Python client.
"""
