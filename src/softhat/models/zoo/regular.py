"""Regular languages: star-free ones, and those that need moduli of positions."""

from __future__ import annotations

from softhat.models.zoo.entry import AB, ABC, Entry

IS_STAR_FREE = (
    "Star-free, so masked unique-hard attention computes it (Yang 2024a) and softmax simulates "
    "that (Yang 2026)."
)

STAR_FREE = [
    Entry(
        "ab-plus", "(ab)+", "star-free", "b & H ((a -> Z b) & (b -> Y a))", AB, IS_STAR_FREE,
        example="abab",
    ),
    Entry(
        "ab-star", "(ab)*", "star-free", "(ab)*", AB,
        f"{IS_STAR_FREE} The textbook example of a star that is star-free (McNaughton 1971).",
        kind="regex", empty=True, example="ab",
    ),
    Entry(
        "since-a-no-c", "an a, and no c since", "star-free", "!c S a", ABC,
        "The `since` of temporal logic (Kamp 1968): the operator that makes past temporal logic "
        "equal to the star-free languages.", example="cab",
    ),
    Entry(
        "until-b-only-a", "a until b", "star-free", "a U b", ABC,
        "The `until` of temporal logic (Kamp 1968).", example="aabc",
    ),
    Entry(
        "since-since", "a S (b S c)", "star-free", "a S (b S c)", ABC, f"{IS_STAR_FREE} Depth two.",
        example="cba",
    ),
    Entry(
        "flip-flop", "the latest of on and off is on", "star-free", "!off S on",
        ("on", "off", "wait"),
        "One bit of memory that is written and held: trained transformers make sporadic errors on "
        "it at every scale (Liu 2023); this one has none.", example="on wait wait",
    ),
    Entry(
        "flip-flop-two-bits", "two bits of memory agree", "star-free",
        "(!off1 S on1) <-> (!off2 S on2)", ("on1", "off1", "on2", "off2"),
        f"{IS_STAR_FREE} Two flip-flops (Liu 2023).", example="on1 on2",
    ),
    Entry(
        "every-a-had-b", "before every a there is a b", "star-free", "H (a -> O b)", ABC,
        IS_STAR_FREE, empty=True, example="bac",
    ),
    Entry(
        "contains-abba", "contains abba", "star-free", "(a|b)*abba(a|b)*", AB, IS_STAR_FREE,
        kind="regex", example="babba",
    ),
    Entry(
        "no-abba", "does not contain abba", "star-free", "~((a|b)*abba(a|b)*)", AB, IS_STAR_FREE,
        kind="regex", empty=True, example="abab",
    ),
    Entry(
        "blocks-of-two-symbols", "(a|ba)*: every b is followed by a", "star-free", "(a|ba)*", AB,
        IS_STAR_FREE, kind="regex", empty=True, example="aba",
    ),
    Entry(
        "traffic-light", "red, green, yellow in turn, from red", "star-free",
        "O (first & red) & H ((green -> Y red) & (yellow -> Y green) & (red -> Z yellow))",
        ("red", "green", "yellow"), IS_STAR_FREE, example="red green",
    ),
]  # fmt: skip

MODULAR = [
    Entry(
        "even-length", "words of even length", "modular", "mod(2, 0)", AB,
        "Not star-free; position parity makes it immediate: FO[<, mod].", empty=True, example="ab",
    ),
    Entry(
        "length-1-mod-3", "length 1 modulo 3", "modular", "mod(3, 1)", AB, "FO[<, mod].",
        example="abab",
    ),
    Entry(
        "a-at-odd-places", "a at every odd place", "modular", "H (mod(2, 1) -> a)", AB,
        "FO[<, mod].", empty=True, example="abab",
    ),
    Entry(
        "alternating", "a at odd places and b at even ones", "modular", "H (mod(2, 1) <-> a)", AB,
        "FO[<, mod], and star-free as (ab)*a?.", empty=True, example="aba",
    ),
    Entry(
        "aa-star", "(aa)*", "modular", "(aa)*", ("a",),
        "The smallest language that is not star-free (McNaughton 1971): a counter of period 2, by mod.",
        kind="regex", empty=True, example="aaaa",
    ),
    Entry(
        "fifths-have-b", "b at some place divisible by five", "modular", "O (mod(5, 0) & b)", AB,
        "FO[<, mod].", example="aaaab",
    ),
]  # fmt: skip

ENTRIES = [*STAR_FREE, *MODULAR]
