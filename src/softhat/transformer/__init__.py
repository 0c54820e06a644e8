"""The artefact: weights with names, how a program becomes them, and how they run."""
