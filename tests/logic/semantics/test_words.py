"""Words as indices and as sets."""

import numpy as np
import pytest

from softhat import SofthatError
from softhat.logic.semantics.words import encode, encode_sets, is_propositional


@pytest.mark.parametrize("length", [1, 5, 255, 256, 257, 5_000])
@pytest.mark.parametrize("alphabet", ["ab", "aéb", "a𝒂", ["a", "open", "b"]])
def test_encode(length: int, alphabet: str | list[str]) -> None:
    codes = np.random.default_rng(length).integers(0, len(alphabet), length)
    word = [alphabet[k] for k in codes]
    assert (encode(word, alphabet) == codes).all()
    assert (encode(codes, alphabet) == codes).all()
    if isinstance(alphabet, str):
        assert (encode("".join(word), alphabet) == codes).all()
        foreign = "".join(word)[:-1] + "!"
        with pytest.raises(SofthatError, match=f"'!' at position {length} .*expected one of"):
            encode(foreign, alphabet)


def test_foreign_symbols() -> None:
    with pytest.raises(SofthatError, match="'x' at position 2"):
        encode("axa", "ab")
    with pytest.raises(SofthatError, match="'shut' at position 1"):
        encode(["shut"], ["open"])
    with pytest.raises(SofthatError, match="position 301"):
        encode("a" * 300 + "\U0010ffff" + "a", "ab")
    with pytest.raises(SofthatError, match="indices from 0 to 1"):
        encode(np.array([0, 2]), "ab")
    with pytest.raises(SofthatError, match="sets"):
        encode([{"a"}], "ab")
    with pytest.raises(SofthatError, match="empty word"):
        encode("", "ab")


def test_sets() -> None:
    table = encode_sets([{"p"}, set(), {"q", "p"}], ["p", "q"])
    assert table.tolist() == [[True, False], [False, False], [True, True]]
    assert is_propositional([set()])
    assert not is_propositional("ab")
    with pytest.raises(SofthatError, match="'r' at position 2"):
        encode_sets([{"p"}, {"r"}], ["p", "q"])
    with pytest.raises(SofthatError, match="propositional"):
        encode_sets("pq", ["p", "q"])
