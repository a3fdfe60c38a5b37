"""How a fleet stands, for people: looking (`look`), what follows of it (`derive`, `queue`), one VM's story (`story`).

Nothing here changes anything.
"""
