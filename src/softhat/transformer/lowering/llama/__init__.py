"""Attention program → stock Llama: heads, gates and positions under RMSNorm and rotary attention.

`inputs` gives positions a program of their own (Llama has no table of them), `rotary` says which
frequencies carry what, `layout` where everything lives, `heads` what queries and keys are,
`weights` makes the tensors.
"""
