"""The embedded engine: runs a Pulumi program in this process and makes its resources so.

Importing it costs nothing of pulumi; `bench.engine.engine.Engine` is what does the work.
"""
