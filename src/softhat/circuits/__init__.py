"""The circuit of a model as ground truth: what each part computes, who reads whom, and a score.

`graph` is the circuit as data, in the formats of the tools that look for circuits; `network` and
`stock_network` run a model with one edge patched (`decoder` holds the weights of a GPT-2 or Llama
in one form); `native` and `stock` read circuits off weights (`structure`, `disguised`); `witness`
finds for each edge a pair of words on which it matters; `score` compares a found circuit with the
true one.
"""
