"""`softhat.corpus`: many compiled models with their formulas, labels, circuits and sample words."""

from softhat.circuits.corpus.corpus import load_model, make_corpus, read_settings
from softhat.circuits.corpus.extract import extract
from softhat.circuits.corpus.shards import Settings

__all__ = ["Settings", "extract", "load_model", "make_corpus", "read_settings"]
