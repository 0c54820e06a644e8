"""Machines that a decoder runs: a step is a token, and which token comes next is a formula.

One module a kind of machine: `counter`, `turing`, `automaton`, `cellular`, `stack`. Each says what
its tokens are, has an interpreter (the reference), and gives one formula a token, "this one comes
next", true at a history iff the machine's next step is that token. `reading` makes machines from
texts and dictionaries, `tokens` has what all kinds say about tokens.
"""
