"""How a transformer runs: softmax and nothing else.

`dense` is the forward pass, `linear` the same softmax in linear time, `stream` one token at a
time, `trace` everything that happens on one word.
"""
