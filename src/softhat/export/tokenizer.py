"""A tokenizer that splits on white space, one token a symbol, as the files Hugging Face loads.

Token k is symbol k; `<bos>` and `<eos>` follow. In propositional mode the tokens are the sets of
propositions, written `{}`, `{p}`, `{p,q}`. White space inside a symbol is written `▁` (U+2581),
because the text is split on white space. There is no unknown token: a symbol outside the
alphabet is an error, not a guess.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from softhat.errors import SofthatError
from softhat.transformer.weights import BOS, EOS

MOST_PROPOSITIONS = 12
"""2^12 = 4,096 sets: each is a row of the embedding."""
BLANK = "▁"


def vocabulary(symbols: Sequence[str], propositional: bool) -> tuple[str, ...]:
    """The tokens' texts: symbols (or sets of propositions), then `<bos>`, `<eos>`."""
    if propositional:
        if len(symbols) > MOST_PROPOSITIONS:
            raise SofthatError(
                f"{len(symbols)} propositions would need 2^{len(symbols)} tokens: an export with "
                f"a tokenizer takes at most {MOST_PROPOSITIONS} propositions"
            )
        names = [_text(name) for name in symbols]
        texts = [
            "{" + ",".join(name for at, name in enumerate(names) if code >> at & 1) + "}"
            for code in range(1 << len(symbols))
        ]
    else:
        texts = [_text(symbol) for symbol in symbols]
    tokens = (*texts, BOS, EOS)
    seen: set[str] = set()
    for token in tokens:
        if token in seen:
            raise SofthatError(
                f"two symbols would have the same token {token!r} (white space is written "
                f"{BLANK!r}): rename one of them"
            )
        seen.add(token)
    return tokens


def encode_sets(
    word: Sequence[set[str] | frozenset[str]], propositions: Sequence[str]
) -> list[int]:
    """Token numbers of a propositional word: bit k of a token is proposition k."""
    return [sum(1 << at for at, p in enumerate(propositions) if p in step) for step in word]


def tokenizer_files(tokens: Sequence[str], context: int, add_eos: bool = False) -> dict[str, bytes]:
    """The files from which `AutoTokenizer` makes a tokenizer that adds `<bos>` (and `<eos>`).

    `<eos>` is also the padding token: then no tool adds a token beyond the embedding.
    """
    ids = {token: at for at, token in enumerate(tokens)}
    special = [BOS, EOS]
    single = [_special(BOS), {"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 0}}]
    if add_eos:
        single, pair = [*single, _special(EOS)], [*pair, _special(EOS)]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": ids[token],
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": {
                token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in special
            },
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": ids, "unk_token": ""},
    }
    roles = {"bos_token": BOS, "eos_token": EOS, "pad_token": EOS}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **roles,
        "model_max_length": context,
        "padding_side": "right",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return {
        "tokenizer.json": as_json(tokenizer),
        "tokenizer_config.json": as_json(config),
        "special_tokens_map.json": as_json(roles),
    }


def as_json(value: object) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def _special(token: str) -> dict[str, dict[str, object]]:
    return {"SpecialToken": {"id": token, "type_id": 0}}


def _text(symbol: str) -> str:
    return "".join(BLANK if char.isspace() else char for char in symbol)
