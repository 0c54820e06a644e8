"""RASP programs: those of Tracr's library under its names, and some beyond.

All of them compile. Functions make programs, because some take s-ops or sizes; each docstring
shows what the program gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softhat.frontends.rasp.language import (
    Aggregate,
    Full,
    LinearSequenceMap,
    Map,
    Select,
    SelectorWidth,
    SequenceMap,
    SOp,
    indices,
    numerical,
    tokens,
)
from softhat.frontends.rasp.operations import Comparison, Value
from softhat.io.errors import SofthatError

# Programs that look both ways


def make_length() -> SOp:
    """The length at every position: `abc` gives 3 3 3."""
    everything = Select(tokens, tokens, Comparison.TRUE).named("all_true_selector")
    return SelectorWidth(everything).named("length")


length = make_length()


def make_reverse(sop: SOp) -> SOp:
    """The sequence backwards: `abc` gives c b a."""
    opposite = ((length - indices) - 1).named("opp_idx-1")
    selector = Select(indices, opposite, Comparison.EQ).named("reverse_selector")
    return Aggregate(selector, sop).named("reverse")


def make_pair_balance(sop: SOp, open_token: Value, close_token: Value) -> SOp:
    """The share of open tokens so far minus that of close tokens: `a()b` gives 0 1/2 0 0."""
    opens = numerical(make_frac_prevs(numerical(sop == open_token).named("bools_open")))
    closes = numerical(make_frac_prevs(numerical(sop == close_token).named("bools_close")))
    balance = LinearSequenceMap(opens.named("opens"), closes.named("closes"), 1, -1)
    return numerical(balance).named("pair_balance")


def make_shuffle_dyck(pairs: Sequence[Sequence[Value]]) -> SOp:
    """Is each kind of bracket balanced by itself? `({)}` gives True everywhere."""
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise SofthatError(f"pairs are two brackets each, such as '()', not {pairs!r}")
    balances = [
        make_pair_balance(tokens, open_token=pair[0], close_token=pair[1]).named(f"balance_{pair}")
        for pair in pairs
    ]
    any_negative = balances[0] < 0
    all_zero = balances[0] == 0
    for balance in balances[1:]:
        any_negative = any_negative | (balance < 0)
        all_zero = all_zero & (balance == 0)
    any_negative = numerical(any_negative).named("any_negative")
    everywhere = Select(indices, indices, Comparison.TRUE).named("select_all")
    has_negative = numerical(Aggregate(everywhere, any_negative, default=0)).named("has_neg")
    last = Select(indices, length - 1, Comparison.EQ).named("select_last")
    last_zero = Aggregate(last, all_zero).named("last_zero")
    return (last_zero & (~has_negative).named("not_has_neg")).named("shuffle_dyck")


def make_shuffle_dyck2() -> SOp:
    return make_shuffle_dyck(pairs=["()", "{}"]).named("shuffle_dyck2")


def make_hist() -> SOp:
    """How often my token occurs: `abac` gives 2 1 2 1."""
    same = Select(tokens, tokens, Comparison.EQ).named("same_tok")
    return SelectorWidth(same).named("hist")


def make_sort_unique(vals: SOp, keys: SOp) -> SOp:
    """`vals` in the order of `keys`, which must differ: 2 4 3 1 gives 1 2 3 4."""
    smaller = Select(keys, keys, Comparison.LT).named("smaller")
    target = SelectorWidth(smaller).named("target_pos")
    return Aggregate(Select(target, indices, Comparison.EQ), vals).named("sort")


def make_sort(vals: SOp, keys: SOp, *, max_seq_len: int, min_key: float) -> SOp:
    """`vals` in the order of `keys`, equal ones as they came. Keys that differ must differ by at
    least `min_key`."""
    distinct = SequenceMap(lambda x, i: x + min_key * i / max_seq_len, keys, indices)
    return make_sort_unique(vals, distinct)


def make_sort_freq(max_seq_len: int) -> SOp:
    """Tokens by how often they occur, most often first: 2 4 2 1 gives 2 2 4 1."""
    often = -1 * make_hist().named("hist")
    return make_sort(tokens, often, max_seq_len=max_seq_len, min_key=1).named("sort_freq")


def make_count_less_freq(n: int) -> SOp:
    """How many tokens occur at most n times; at every position: `aaabbc` with 2 gives 3."""
    often = make_hist().named("hist")
    few = Select(often, often, lambda key, _: key <= n).named("select_less")
    return SelectorWidth(few).named("count_less_freq")


def make_count(sop: SOp, token: Value) -> SOp:
    """How often `token` occurs, at every position."""
    chosen = Select(sop, sop, lambda key, _: key == token)
    return SelectorWidth(chosen).named(f"count_{token}")


# Programs that mean the same under causal evaluation


def make_frac_prevs(bools: SOp) -> SOp:
    """The share of positions so far where `bools` holds: tokens == "l" in `hello`: 0 0 1/3 …"""
    before = Select(indices, indices, Comparison.LEQ)
    return numerical(Aggregate(before, numerical(bools), default=0)).named("frac_prevs")


def shift_by(offset: int, /, sop: SOp) -> SOp:
    """The sequence moved right by `offset`, None where nothing comes: `abc` by 1: None a b."""
    selector = Select(indices, indices, lambda key, query: query == key + offset)
    return Aggregate(selector, sop, default=None).named(f"shift_by({offset})")


def detect_pattern(sop: SOp, pattern: Sequence[Value]) -> SOp:
    """True where `pattern` ends, None where it would begin before the sequence: "ab" in `aaba`
    gives None False True False."""
    if len(pattern) < 1:
        raise ValueError(f"Length of `pattern` must be at least 1. Got {pattern}")
    all_here: SOp | None = None
    for back, element in reversed(list(enumerate(reversed(pattern)))):
        here = sop == element
        here = shift_by(back, here) if back else here
        all_here = here if all_here is None else all_here & here
    assert all_here is not None
    return all_here.named(f"detect_pattern({pattern})")


def make_nary_sequencemap(f: Callable[..., Value], *sops: SOp) -> SOp:
    """`f` of several values at each position, by tuples of them."""
    values, *rest = sops
    joined: SOp = Map(lambda x: (x,), values)
    for sop in rest:
        joined = SequenceMap(lambda x, y: (*x, y), joined, sop)
    return Map(lambda arguments: f(*arguments), joined)


# Beyond Tracr's library


def make_latest(keys: SOp, queries: SOp, vals: SOp, default: Value = None) -> SOp:
    """`vals` at the last position before mine whose key is my query, `default` if there is none.

    The positions with one key are numbered from left to right; the last of the c that come before
    me has the number c - 1, and no other position has this key and this number.
    """
    before = Select(indices, indices, Comparison.LT).named("before")
    number = SelectorWidth(Select(keys, keys, _same) & before).named("number_of_key")
    count = SelectorWidth(Select(keys, queries, _same) & before).named("keys_before")
    latest = Select(keys, queries, _same) & Select(number, count - 1, Comparison.EQ)
    return Aggregate(latest.named("latest"), vals, default=default)


def _same(key: Value, query: Value) -> bool:
    return key is not None and key == query


def make_induction(sop: SOp = tokens) -> SOp:
    """What followed my token the last time it came, None if it has not: `abcab` gives
    None None None b c. (The induction head of Olsson and others, 2022.)"""
    return make_latest(shift_by(1, sop).named("previous"), sop, sop).named("induction")


def make_dyck(pairs: Sequence[str], depth: int) -> SOp:
    """Is the sequence up to here balanced, properly nested and at most `depth` deep? `()[(` gives
    False True False False with the pairs "()" and "[]"."""
    if not pairs or any(len(pair) != 2 for pair in pairs) or depth < 1:
        raise SofthatError("make_dyck needs pairs such as '()' and a depth of at least 1")
    kinds = {bracket: k for k, pair in enumerate(pairs) for bracket in pair}
    opening = {pair[0] for pair in pairs}
    opens = Map(lambda t: t in opening, tokens).named("opens")
    before = Select(indices, indices, Comparison.LEQ).named("so_far")
    opened = SelectorWidth(Select(opens, opens, lambda key, _: key) & before).named("opened")
    closed = SelectorWidth(Select(opens, opens, lambda key, _: not key) & before).named("closed")
    height = (opened - closed).named("height")
    inside = Map(lambda h: h if 0 <= h <= depth else -1, height).named("bounded_height")
    # A bracket that closes to height h closes the last one that opened to height h + 1.
    opened_to = SequenceMap(lambda h, o: h if o else 0, inside, opens).named("opened_to")
    closes = SequenceMap(lambda h, o: -1 if o or h < 0 else h + 1, inside, opens).named("closes")
    kind = Map(kinds.__getitem__, tokens).named("kind")
    partner = make_latest(opened_to, closes, kind, default=-1).named("partner")
    mismatch = SequenceMap(lambda k, p: k != p, kind, partner) & ~opens
    fault = (mismatch | (inside == -1)).named("fault")
    faults = SelectorWidth(Select(fault, fault, lambda key, _: key) & before).named("faults")
    return ((faults == 0) & (height == 0)).named("dyck")


def make_previous_token(sop: SOp = tokens) -> SOp:
    """The token before: `abc` gives None a b."""
    return shift_by(1, sop).named("previous_token")


def make_first_token(sop: SOp = tokens) -> SOp:
    """The first token at every position."""
    return Aggregate(Select(indices, Full(0), Comparison.EQ), sop).named("first_token")


def make_majority(token: Value) -> SOp:
    """Is `token` more than half of all tokens? At every position."""
    everywhere = Select(indices, indices, Comparison.TRUE)
    share = numerical(Aggregate(everywhere, numerical(tokens == token), default=0)).named("share")
    return (share > 0.5).named(f"majority_{token}")
