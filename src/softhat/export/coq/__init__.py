"""Theorems about the very model a user holds, as files that Coq checks.

`theorem` writes the file of a compiled model: its formulas as written, its weights as exact
rationals, and evidence, which Coq's check need not believe. `checker` runs Coq on it.
"""
