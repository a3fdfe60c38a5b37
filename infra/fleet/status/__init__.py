"""How a fleet stands, for people: looking (`look`), what follows of it (`derive`, `queue`), a VM's `timeline`.

Nothing here changes anything.
"""
