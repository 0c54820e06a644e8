"""Proof or counterexample for models that somebody trained.

A stock GPT-2 checkpoint and a machine that says what it should answer go in. Out comes a proof for
every word up to a length, with the rounding of every step counted, or a word that breaks the model.

- `specification` is the machine, made by `languages`; `checkpoint` holds the weights.
- `rounding`, `activations`, `points` and `zonotopes` are the arithmetic of the proof: single
  activations, and sets of them. `walk` is a layer, written once for both.
- `support` says how far a head can read in a direction, over all words; `first_layer` makes sets of
  it.
- `refinement`, `paths` and `two_layers` do the same for a second layer, over a finer machine.
- `one_layer` proves, `enumeration` walks all prefixes (`concrete` holds the steps), `searching`
  looks for words that break a model, `replay` runs them in `transformers`. `deciding` brings them
  together at one offset; `prove` is the driver and `verdict` its answer.
"""
