"""An independent re-check of a simulation's folder: it reads the files and believes nothing.

It shares no code with what chooses temperatures or bounds errors. `files` and `law` read,
`definition` evaluates the AHAT, `tensors` the softmax model, `attack` looks for bad words, and
`check` compares what is seen with what the certificate claims.
"""

from softhat.ahat.simulation.recheck.check import Check, recheck

__all__ = ["Check", "recheck"]
