"""Simpler formulas that mean the same: what the compiler does to a formula before it builds heads.

Nothing that proves, decides or certifies imports this folder. A wrong rule here gives a wrong
model, whose certificate says that nothing is proved.
"""
