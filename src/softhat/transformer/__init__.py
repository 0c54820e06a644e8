"""The artefact: a transformer as data, with a name for everything in it.

Whatever runs, proves, saves, draws or exports a model reads this and nothing else.
"""
