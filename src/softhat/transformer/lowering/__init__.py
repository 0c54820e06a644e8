"""Attention program → transformer: where weights come from.

`heads` has one file a kind of head, whose docstring is its theorem; `gates` has the feed-forward
layers and the read-out; `lower` turns named coordinates (`rows`, `wiring`) into matrices. `gpt2`
is the same step for the stock architecture. Nothing here is trusted: `proof` reads the weights
and imports none of it.
"""
