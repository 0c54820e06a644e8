"""Why a checkpoint in a random basis is right, in float32: what all architectures share.

`snapping` reads weights along claimed directions, `sharing` says which hidden units do the work of
one, `matrices` measures how far weights are from the plain ones, `bounds` follows errors from block
to block. What an architecture's norm, scores and hidden units do is in its own room.
"""
