"""What a formula means: the temporal logic, independent of any transformer.

`syntax` reads and prints formulas, `semantics` gives their truth on words; the modules here are
passes from formulas to formulas (core form, linear comparisons) and questions about them
(fragments, decide). `optimise` makes formulas simpler; nothing else here knows it.
"""
