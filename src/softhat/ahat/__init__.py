"""Average-hard attention transformers: exact run, analysis, temperature, simulation."""

from softhat.ahat.builder import Builder, Expr
from softhat.ahat.features import Mod, Named, Table
from softhat.ahat.file import dumps, load, loads, save
from softhat.ahat.model import AHAT, FeedForward, Head, Layer

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
