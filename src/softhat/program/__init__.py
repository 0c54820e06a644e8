"""What attention must do: heads and gates as data, independent of any weights.

A formula becomes a DAG of Boolean gates and of a few kinds of head (`signals`, `build`), the
DAG becomes layers (`schedule`), and what lives in the residual stream gets its place
(`registers`). `evaluate` runs a program by the definition of its heads.
"""
