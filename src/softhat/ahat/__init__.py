"""Average-hard attention transformers: exact run, analysis, temperature, simulation."""

from softhat.ahat.builder import Builder, Expr
from softhat.ahat.file import dumps, load, loads, save
from softhat.ahat.model import AHAT, FeedForward, Head, Layer
from softhat.numbers.positions import Mod, Named, Table

__all__ = [
    "AHAT",
    "Builder",
    "Expr",
    "FeedForward",
    "Head",
    "Layer",
    "Mod",
    "Named",
    "Table",
    "dumps",
    "load",
    "loads",
    "save",
]
