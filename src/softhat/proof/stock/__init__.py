"""What the proofs of stock architectures share: GPT-2, Llama, Mistral, Qwen2.

`variables` is what a residual stream holds, `derivation` walks the blocks: `heads` and `gates` say
what they write. `readout`, `distribution` and `logits` are the last layer, `bounded` has atoms of
words up to the context, `storage` number formats, `pair_scores` and `rotary` the errors of scores.
`certificate` is what all that adds up to, and `certify` makes it.
"""
