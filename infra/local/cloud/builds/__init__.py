"""Builds of the local cloud from outside Google's APIs: the client of what answers below `/_tidepool/builds/`."""
