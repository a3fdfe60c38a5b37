"""The controller: what a fleet is, what it shall be, and what is done about the difference.

`decide.decide` is a pure function of the manifest, of what was observed, of memory and of the time.
"""
