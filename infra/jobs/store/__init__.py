"""Locks and statuses that the programs of training jobs share: who works on a key, and what became of it.

Owns leases with fencing tokens and guarded writes over one small interface (`entries.SharedStore`), and that interface
on Redis, on Firestore and in memory. Training code imports it: it knows nothing else of this project, and loads a
server's client where one is asked for. `opened.open_store` gives the store that a job's environment names.
"""
