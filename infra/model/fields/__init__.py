"""The types of single values in a stack file, by subject: what each may be, and how a wrong one is said.

Owns values that are right or wrong by themselves. Does not own which keys have them (schema) nor rules between values
(rules).
"""
