"""B-RASP and C-RASP programs with, where it is short, their language in plain Python.

The first of each kind are the examples of the papers: Yang, Chiang and Angluin (2024) for B-RASP
(bounded Dyck), Strobl and others and the flip-flop language of Liu and others for attention with
a default, Yang and Chiang (2024) for C-RASP (majority, Dyck, a^n b^n c^n), Huang and others
(2025) for counting with positions before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Case(NamedTuple):
    """A program, its alphabet, and (if it is known) whether it accepts a word at its last
    position."""

    name: str
    text: str
    alphabet: str
    language: Callable[[str], bool] | None = None


def _balanced(word: str, depth: int | None = None, pairs: tuple[str, ...] = ("()",)) -> bool:
    stack: list[str] = []
    closing = {pair[1]: pair[0] for pair in pairs}
    for symbol in word:
        if symbol not in closing:
            stack.append(symbol)
            if depth is not None and len(stack) > depth:
                return False
        elif not stack or stack.pop() != closing[symbol]:
            return False
    return not stack


def _prefixes_of(check: Callable[[str], bool], word: str) -> bool:
    return all(check(word[:k]) for k in range(1, len(word) + 1))


CASES = [
    Case(
        "dyck-1 of depth 2",
        """
        // left and right neighbours, matched pairs, then the pairs around matched pairs
        PL(i) := rightmost j < i [1] Q((j) : 0
        SR(i) := leftmost j > i [1] Q)(j) : 0
        IM(i) := Q((i) & SR(i) | Q)(i) & PL(i)
        PU(i) := rightmost j < i [!IM(j)] Q((j) : 0
        SU(i) := leftmost j > i [!IM(j)] Q)(j) : 0
        OK(i) := IM(i) | Q((i) & SU(i) | Q)(i) & PU(i)
        Y(i)  := rightmost j [!OK(j)] 0 : 1
        accept Y
        """,
        "()",
        lambda w: _balanced(w, 2),
    ),
    Case(
        "dyck-1 of depth 2 in the paper's signs",
        """
        PL(i) := ▶_j [j < i, 1] Q_((j) : 0
        SR(i) := ◀_j [j > i, 1] Q_)(j) : 0
        IM(i) := (Q_((i) ∧ SR(i)) ∨ (Q_)(i) ∧ PL(i))
        PU(i) := ▶_j [j < i, ¬IM(j)] Q_((j) : 0
        SU(i) := ◀_j [j > i, ¬IM(j)] Q_)(j) : 0
        OK(i) := IM(i) ∨ Q_((i) ∧ SU(i) ∨ Q_)(i) ∧ PU(i)
        Y(i)  := ▶_j [1, ¬OK(j)] 0 : 1
        """,
        "()",
        lambda w: _balanced(w, 2),
    ),
    Case(
        "(ab)*",
        """
        A(i) := rightmost j < i [1] Qa(j) : 0
        B(i) := rightmost j < i [1] Qb(j) : 1
        Bad(i) := Qa(i) & !B(i) | Qb(i) & !A(i)
        Y(i) := leftmost j <= i [Bad(j)] 0 : Qb(i)
        """,
        "ab",
        lambda w: re.fullmatch("(ab)*", w) is not None,
    ),
    Case(
        "a*b*",
        """
        Seen(i) := leftmost j < i [Qb(j)] 1 : 0
        Bad(i) := Seen(i) & Qa(i)
        Y(i) := !(rightmost j <= i [Bad(j)] 1 : 0)
        accept Y
        """,
        "ab",
        lambda w: re.fullmatch("a*b*", w) is not None,
    ),
    Case(
        "induction: the symbol after the last position with my symbol is a",
        """
        Before(i) := rightmost j < i [1] Qa(j) : 0
        BeforeB(i) := rightmost j < i [1] Qb(j) : 0
        Next(i) := rightmost j < i [Qa(i) & Before(j) | Qb(i) & BeforeB(j)] Qa(j) : 0
        accept Next
        """,
        "ab",
        lambda w: any(
            all(w[k - 1] != w[-1] for k in range(j + 1, len(w) - 1)) and w[j] == "a"
            for j in range(1, len(w) - 1)
            if w[j - 1] == w[-1]
        ),
    ),
    Case(
        "flip-flop: r is followed by what was last written",
        """
        // w0 w1 i0 i1 r0 r1 as a b c d e f: write, ignore, read
        Zero(i) := rightmost j < i [Qa(j) | Qb(j)] Qa(j) : 0
        One(i) := rightmost j < i [Qa(j) | Qb(j)] Qb(j) : 0
        Bad(i) := Qe(i) & !Zero(i) | Qf(i) & !One(i)
        Y(i) := rightmost j <= i [Bad(j)] 0 : 1
        accept Y
        """,
        "abef",
    ),
    Case(
        "first symbol equals last",
        "Y(i) := leftmost j <= i [1] Qa(i) & Qa(j) | Qb(i) & Qb(j) : 0",
        "ab",
        lambda w: w[0] == w[-1],
    ),
    Case(
        "the last position with another symbol is followed only by mine",
        "Y(i) := rightmost j < i [Qa(i) xor Qa(j)] Qb(j) : 1",
        "ab",
    ),
    Case(
        "leftmost j after",
        "Y(i) := leftmost j > i [Qa(j)] Qb(i) : Qa(i)",
        "ab",
    ),
    Case("rightmost j at or after", "Y(i) := rightmost j >= i [Qa(j) | Qb(j)] Qa(j) : 1", "abc"),
    Case("leftmost j at or after", "Y(i) := leftmost j >= i [!Qa(j)] Qb(j) : Qa(i)", "abc"),
    Case("rightmost j after", "Y(i) := rightmost j > i [Qa(i) -> Qb(j)] Qb(j) & Qa(i) : 1", "ab"),
    Case("rightmost of all", "Y(i) := rightmost j [Qa(j) <-> Qa(i)] last(j) : first(i)", "ab"),
    Case("leftmost of all", "Y(i) := leftmost j [Qa(j) xor Qb(i)] Qb(j) : last(i)", "abc"),
    Case("leftmost j before", "Y(i) := leftmost j < i [Qb(j)] Qa(i) | first(j) : 1", "ab"),
    Case(
        "no default is false", "Y(i) := rightmost j < i [Qa(j)] true", "ab", lambda w: "a" in w[:-1]
    ),
    Case(
        "remainders",
        "Y(i) := rightmost j <= i [j % 2 = 1] Qa(j) & i % 3 != 0 : 0",
        "ab",
    ),
    Case(
        "a choice of Booleans",
        "P(i) := Qa(i) ? (rightmost j < i [1] Qb(j) : 1) : Qc(i)\naccept P(i)",
        "abc",
    ),
    Case(
        "a name like a symbol",
        "Qx(i) := Qa(i) | Qb(i)\nY(i) := rightmost j < i [Qx(j)] Qa(j) : Qx(i)",
        "abc",
    ),
    Case(
        "nested attention by names",
        """
        P(i) := rightmost j < i [Qa(j)] last(j) | Qb(i) : 1
        R(i) := leftmost j <= i [!P(j)] Qb(j) : P(i)
        S(i) := rightmost j < i [R(j) & P(i) | !R(j) & Qb(i)] P(j) : R(i)
        accept S
        """,
        "ab",
    ),
    # C-RASP
    Case(
        "majority",
        """
        A(i) := # j <= i [Qa(j)]
        B(i) := # j <= i [Qb(j)]
        M(i) := A(i) > B(i)
        """,
        "ab",
        lambda w: w.count("a") > w.count("b"),
    ),
    Case(
        "dyck-1",
        """
        CL(i) := #[j <= i] Q((j)
        CR(i) := #[j <= i] Q)(j)
        V(i) := CL(i) < CR(i)
        CV(i) := #[j <= i] V(j)
        D(i) := CV(i) = 0 & CL(i) = CR(i)
        accept D
        """,
        "()",
        _balanced,
    ),
    Case(
        "a^n b^n c^n",
        """
        Ca(i) := # j <= i [Qa(j)]
        Cb(i) := # j <= i [Qb(j)]
        Cc(i) := # j <= i [Qc(j)]
        A(i) := Cb(i) + Cc(i) = 0
        B(i) := Cc(i) = 0
        CA(i) := # j <= i [Qa(j) & A(j)]
        CB(i) := # j <= i [Qb(j) & B(j)]
        Ga(i) := CA(i) = Ca(i)
        Gb(i) := CB(i) = Cb(i)
        Y(i) := Ga(i) & Gb(i) & Ca(i) = Cb(i) & Cb(i) = Cc(i)
        """,
        "abc",
        lambda w: w == "a" * (len(w) // 3) + "b" * (len(w) // 3) + "c" * (len(w) // 3),
    ),
    Case(
        "shuffle of two Dyck languages",
        """
        L(i) := # j <= i [Q((j)]
        R(i) := # j <= i [Q)(j)]
        S(i) := # j <= i [Q[(j)]
        E(i) := # j <= i [Q](j)]
        Bad(i) := L(i) < R(i) | S(i) < E(i)
        N(i) := # j <= i [Bad(j)]
        Y(i) := N(i) = 0 & L(i) = R(i) & S(i) = E(i)
        """,
        "()[]",
        lambda w: (
            _balanced("".join(s for s in w if s in "()"))
            and _balanced("".join(s for s in w if s in "[]"), pairs=("[]",))
        ),
    ),
    Case(
        "an even share: twice as many a as b",
        "Y(i) := (# j <= i [Qa(j)]) = 2*(# j <= i [Qb(j)])",
        "ab",
        lambda w: w.count("a") == 2 * w.count("b"),
    ),
    Case(
        "conditional count",
        """
        A(i) := # j <= i [Qa(j)]
        B(i) := # j <= i [Qb(j)]
        C(i) := Qa(i) ? A(i) - B(i) : 2*B(i) - 1
        Y(i) := C(i) >= 1
        """,
        "ab",
        lambda w: (w.count("a") - w.count("b") if w[-1] == "a" else 2 * w.count("b") - 1) >= 1,
    ),
    Case(
        "minimum and maximum",
        """
        A(i) := # j <= i [Qa(j)]
        B(i) := # j [Qb(j)]
        C(i) := # j > i [Qc(j)]
        Y(i) := max(A(i), B(i)) - min(B(i), C(i)) = 1
        """,
        "abc",
    ),
    Case(
        "strict masks",
        """
        P(i) := # j < i [Qa(j)]
        F(i) := # j > i [Qb(j)]
        G(i) := # j >= i [Qa(j) | Qb(j)]
        Y(i) := P(i) + F(i) > G(i) - 1
        """,
        "ab",
        lambda w: w[:-1].count("a") > 0,
    ),
    Case(
        "how many have my symbol",
        "N(i) := # j [Qa(i) & Qa(j) | Qb(i) & Qb(j) | Qc(i) & Qc(j)]\nY(i) := N(i) = 2",
        "abc",
        lambda w: w.count(w[-1]) == 2,
    ),
    Case(
        "positions and length",
        "Y(i) := 2*i = n + 1 | i - (# j <= i [Qa(j)]) = 2",
        "ab",
    ),
    Case(
        "counts inside attention",
        """
        A(i) := # j <= i [Qa(j)]
        B(i) := # j <= i [Qb(j)]
        Y(i) := rightmost j <= i [A(j) = B(j)] Qa(j) : A(i) > 2
        """,
        "ab",
    ),
    Case(
        "attention inside counts",
        """
        P(i) := rightmost j < i [1] Qa(j) : 0
        C(i) := # j <= i [P(j) & Qb(j)]
        Y(i) := C(i) >= 2
        """,
        "ab",
        lambda w: w.count("ab") >= 2,
    ),
    Case(
        "contains abc as a subsequence, by counting what came before",
        """
        Ca(i) := # j <= i [Qa(j)]
        B(i) := Qb(i) & Ca(i) >= 1
        Cb(i) := # j <= i [B(j)]
        D(i) := Qc(i) & Cb(i) >= 1
        Cc(i) := # j <= i [D(j)]
        Y(i) := Cc(i) >= 1
        """,
        "abc",
        lambda w: re.search("a.*b.*c", w) is not None,
    ),
    Case(
        "prefixes of Dyck-1",
        """
        L(i) := # j <= i [Q((j)]
        R(i) := # j <= i [Q)(j)]
        N(i) := # j <= i [R(j) > L(j)]
        Y(i) := N(i) = 0
        """,
        "()",
        lambda w: _prefixes_of(lambda v: v.count("(") >= v.count(")"), w),
    ),
    Case(
        "a choice in a choice",
        """
        A(i) := # j <= i [Qa(j)]
        C(i) := Qa(i) ? (first(i) ? 5 : A(i)) : (last(i) ? -A(i) : 3*A(i) - i)
        Y(i) := C(i) != 2 & C(i) <= 4
        """,
        "ab",
    ),
]
