"""Questions about formulas, answered for words of every length.

`questions` is what users call. A formula becomes a sequential `machine`, its reachable states are
`search`ed breadth first as decision `diagrams`, over the `letters` that the words are made of; a
`sweep` merges subformulas that mean the same before.
`counting` turns what can be proved about comparisons into something the search can use, and
`short_words` tries all short words, which is all that can be done for the rest.
"""
