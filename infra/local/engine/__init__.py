"""The embedded engine: runs a Pulumi program in this process and makes its resources so."""
