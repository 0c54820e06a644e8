"""What a kind of head is to the layouts of stock decoders: its queries and keys.

GPT-2's positions are learned, and scores are Σ_r query_r(x_i)·key_r(x_j)/√d_head. Llama's turn: a
row is (pair, side) with a form, side 0 and 1 the two coordinates of a rotary pair, and the score is
the sum over pairs of Re(q·conj(k)·e^(iω(i - j)))/√head_dim. The root, a power of two, is part of
the queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softhat.transformer.lowering.stock.forms import ALWAYS, PairForm
from softhat.transformer.lowering.stock.plan import StockHeadPlan

if TYPE_CHECKING:
    from softhat.transformer.lowering.gpt2.layout import Layout
    from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout

Learned = tuple[list[PairForm], list[PairForm]]
"""Queries and keys."""
Rows = dict[tuple[int, int], PairForm]


def _nothing(layout: Layout, head: StockHeadPlan) -> Learned:
    return [], []


def _no_queries(layout: LlamaLayout, group: KeyGroup, head: StockHeadPlan) -> Rows:
    return {}


def _no_keys(layout: LlamaLayout, head: StockHeadPlan) -> Rows:
    return {}


def _no_content(head: StockHeadPlan) -> PairForm | None:
    return None


@dataclass(frozen=True)
class LoweredKind:
    """A kind of head; what is not given it does without."""

    learned: Callable[[Layout, StockHeadPlan], Learned] = _nothing
    """Its scores where positions are learned."""
    queries: Callable[[LlamaLayout, KeyGroup, StockHeadPlan], Rows] = _no_queries
    """Its queries where they turn …"""
    keys: Callable[[LlamaLayout, StockHeadPlan], Rows] = _no_keys
    """… and its keys."""
    content: Callable[[StockHeadPlan], PairForm | None] = _no_content
    """What its keys have on a slow pair."""
    own_keys: bool = False
    """No other kind can share its keys."""


def constant(weight: float) -> PairForm:
    return ALWAYS.times(weight)
