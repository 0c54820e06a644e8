"""What the proofs of stock architectures share: GPT-2, Llama, Mistral, Qwen2.

`variables` is what a residual stream holds, `counts` means and their signs, `readout` and
`distribution` the heads of a checkpoint, `bounded` atoms of words up to the context, `storage`
number formats, `certificate` what all that adds up to.
"""
