"""The local Google Cloud: the REST APIs that Tidepool uses, served on loopback.

Owns: routing and checking of requests by Google's own discovery documents, durable resources, operations, a clock,
limits, faults, and the process that serves them. Leaves what each service does to `services`, and what a person
types to `infra.cli`. Nothing here talks to a network other than 127.0.0.1.
"""
