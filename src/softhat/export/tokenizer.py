"""A tokenizer that splits on white space, one token a symbol, as the files Hugging Face loads.

Token k is symbol k; `<bos>` and `<eos>` follow. In propositional mode the tokens are the sets of
propositions, written `{}`, `{p}`, `{p,q}`. White space inside a symbol is written `▁` (U+2581),
because the text is split on white space. There is no unknown token: a symbol outside the
alphabet is an error, not a guess, and the message of the `tokenizers` library names the alphabet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError
from softhat.transformer.weights import BOS, EOS

MOST_PROPOSITIONS = 12
"""2^12 = 4,096 sets: each is a row of the embedding."""
BLANK = "▁"
MOST_SHOWN = 20
"""Symbols that the message about an unknown one lists."""


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
    for text in texts:
        for sink in (BOS, EOS):
            if sink in text:
                raise SofthatError(
                    f"the tokenizer would find {sink} inside the symbol {text!r}: rename it"
                )
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


def tokenizer_documents(
    tokens: Sequence[str],
    context: int,
    add_bos: bool = True,
    add_eos: bool = False,
    pad_left: bool = False,
) -> dict[str, Any]:
    """What the files hold from which `AutoTokenizer` makes a tokenizer that adds `<bos>` (and
    `<eos>`): all that `tokenizers` and transformers read of one.

    `<eos>` is also the padding token: then no tool adds a token beyond the embedding. Batches that
    are to be continued are padded on the left.
    """
    ids = {token: at for at, token in enumerate(tokens)}
    special = [BOS, EOS]
    first = [_special(BOS)] if add_bos else []
    single = [*first, {"Sequence": {"id": "A", "type_id": 0}}]
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
        "model": _model(ids),
    }
    roles = {"bos_token": BOS, "eos_token": EOS, "pad_token": EOS}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **roles,
        "model_max_length": context,
        "padding_side": "left" if pad_left else "right",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": config,
        "special_tokens_map.json": roles,
    }


def _model(ids: dict[str, int]) -> dict[str, object]:
    """Whole words or an error whose message can be chosen, with nothing but `tokenizers` installed.

    A WordLevel model says of an unknown word only that "[UNK]" is missing. A BPE model says that
    its unknown token, *by name*, is: the name is the message. With `ignore_merges` words of the
    vocabulary are taken whole. Any other falls apart into characters, all but the first with a
    prefix that no symbol has, so that it is unknown.
    """
    prefix = "\0"
    while any(token.startswith(prefix) for token in ids):
        prefix += "\0"
    symbols = [token for token in ids if token not in (BOS, EOS)]
    shown = " ".join(symbols[:MOST_SHOWN]) + (" …" if len(symbols) > MOST_SHOWN else "")
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": f"a symbol outside the alphabet: separate symbols by spaces, from {shown}",
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": True,
        "vocab": ids,
        "merges": [],
    }


def _special(token: str) -> dict[str, dict[str, object]]:
    return {"SpecialToken": {"id": token, "type_id": 0}}


def _text(symbol: str) -> str:
    return "".join(BLANK if char.isspace() else char for char in symbol)


def check_tokenizer(
    folder: Path, symbols: Sequence[str], propositional: bool, add_bos: bool, add_eos: bool
) -> None:
    """transformers makes of a folder a tokenizer that gives words the tokens that are proved."""
    from transformers import AutoTokenizer

    tokens = vocabulary(symbols, propositional)
    letters = range(len(tokens) - 2)
    words = [[letter] for letter in letters[:64]]
    words += [[*letters[:64]], [0, 0], [letters[-1], 0, letters[-1]]]
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ids = tokenizer([" ".join(tokens[code] for code in word) for word in words])["input_ids"]
    bos, eos = [tokens.index(BOS)] * add_bos, [tokens.index(EOS)] * add_eos
    for word, numbers in zip(words, ids, strict=True):
        if numbers != [*bos, *word, *eos]:
            text = " ".join(tokens[code] for code in word)
            raise SofthatError(f"{folder}: its tokenizer makes {numbers} of {text!r}")
