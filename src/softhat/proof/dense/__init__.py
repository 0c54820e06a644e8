"""Why a checkpoint in a random basis is right, in float32, whatever its architecture.

`snapping` reads weights along claimed directions, `sharing` says which hidden units do the work of
one, `matrices` and `rows` measure how far weights are from the plain ones, `units` bounds what
hidden units write, `squares` the mean square of a stream that gates with second factors write, and
`bounds` follows errors from block to block. Only scores are in the rooms of the architectures.
"""
