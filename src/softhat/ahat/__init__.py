"""Average-hard attention transformers: exact run, analysis, temperature, simulation."""

from softhat.ahat.build import Builder, Expr
from softhat.ahat.files import dumps, load, loads, save
from softhat.ahat.model import AHAT, FeedForward, Head, Layer
from softhat.ahat.positions import Mod, Named, Table

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
