"""What a formula means: the temporal logic, independent of any transformer.

`syntax` reads and prints formulas, `semantics` gives their truth on words; the modules here are
passes from formulas to formulas (core form, simplification, linear comparisons) and questions
about them (fragments, decide).
"""
