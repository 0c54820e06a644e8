"""A gallery of hard-attention transformers, written with the builder.

Each function states what the model computes at position i of a word w. `GALLERY` names them;
`examples/ahat/` holds the same models as files.
"""

from __future__ import annotations

from collections.abc import Callable

from softhat.ahat.gallery.languages import a_b_c_in_equal_numbers, bounded_dyck_2, parity
from softhat.ahat.gallery.lookup import (
    dyck_argmin,
    dyck_uniform,
    fifth_token,
    first_token,
    histogram,
    induction_average,
    induction_latest,
    last_by_inverse,
    last_token,
    majority,
    most_frequent_symbol,
    most_recent_occurrence,
    parity_of_length,
    previous_token,
    retrieval_by_count,
    reverse,
    sort,
    third_token,
)
from softhat.ahat.gallery.unique import (
    binary_carry,
    leftmost_b,
    nearest_smaller,
    no_two_b,
    rightmost_b,
    since,
)
from softhat.ahat.model import AHAT

GALLERY: dict[str, Callable[[], AHAT]] = {
    "majority": majority,
    "first-token": first_token,
    "last-token": last_token,
    "last-by-inverse": last_by_inverse,
    "previous-token": previous_token,
    "induction-latest": induction_latest,
    "induction-average": induction_average,
    "most-recent-occurrence": most_recent_occurrence,
    "histogram": histogram,
    "reverse": reverse,
    "sort": sort,
    "dyck-uniform": dyck_uniform,
    "dyck-argmin": dyck_argmin,
    "parity-of-length": parity_of_length,
    "third-token": third_token,
    "fifth-token": fifth_token,
    "most-frequent-symbol": most_frequent_symbol,
    "retrieval-by-count": retrieval_by_count,
    "parity": parity,
    "bounded-dyck-2": bounded_dyck_2,
    "a-b-c-in-equal-numbers": a_b_c_in_equal_numbers,
    "leftmost-b": leftmost_b,
    "rightmost-b": rightmost_b,
    "binary-carry": binary_carry,
    "nearest-smaller": nearest_smaller,
    "no-two-b": no_two_b,
    "since": since,
}

__all__ = [
    "GALLERY",
    "a_b_c_in_equal_numbers",
    "binary_carry",
    "bounded_dyck_2",
    "dyck_argmin",
    "dyck_uniform",
    "fifth_token",
    "first_token",
    "histogram",
    "induction_average",
    "induction_latest",
    "last_by_inverse",
    "last_token",
    "leftmost_b",
    "majority",
    "most_frequent_symbol",
    "most_recent_occurrence",
    "nearest_smaller",
    "no_two_b",
    "parity",
    "parity_of_length",
    "previous_token",
    "retrieval_by_count",
    "reverse",
    "rightmost_b",
    "since",
    "sort",
    "third_token",
]
