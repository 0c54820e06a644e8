"""Attention program → transformer: where weights come from.

`heads` has one function a kind of head, whose docstring is its theorem; `lower` turns named
coordinates into matrices. `gpt2` is the same step for the stock architecture. Nothing here is
trusted: `proof` reads the weights and imports none of it.
"""
