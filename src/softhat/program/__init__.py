"""What attention must do: inputs, gates and heads as data, independent of any weights.

A formula becomes a program (`build`, `counting`, by way of a `Draft`), the program becomes layers
(`schedule`), and what lives in the residual stream gets its place (`registers`). `evaluate` runs
a program by the definition of its heads, `draw` shows it.
"""
