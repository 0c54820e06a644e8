"""Named languages and tasks: how to say them, what is known about them, what they cost.

Entries are data (`regular`, `counting`, `numerical`, `patterns`, `hard`), found by name in `catalogue`;
`zoo:NAME` stands for an entry wherever a formula is read. Every entry has a recogniser in the
tests that knows nothing of softhat.
"""
