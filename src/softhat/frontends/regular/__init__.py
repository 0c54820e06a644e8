"""Regular languages: expression or automaton → star-free? → cascade of resets → formula.

`regex` and `dfa` read, `monoid` decides and finds the counter of a language that is not
star-free, `machine` simplifies the automaton using what it leaves open, `holonomy` cuts it into
a cascade of resets, `decisions` writes each level as a formula, `translate` is the whole way.
"""
