"""What is asked of a trained model at one offset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softhat.trained.checkpoint import Checkpoint
from softhat.trained.rounding import Rounding
from softhat.trained.specification import Specification


@dataclass(frozen=True)
class TrainedQuestion:
    """Does the model, which has `bos` at the position id `offset`, decide as the specification
    says, on every word of at most `most` symbols, whatever is rounded on the way?"""

    model: Checkpoint
    spec: Specification
    offset: int
    most: int
    domain: str
    """"completable": prefixes of words of the language; "all": every prefix that the machine
    reads."""
    rounding: Rounding

    @cached_property
    def need(self) -> NDArray[np.int64]:
        """By state, how many more symbols it takes to a word that shows the decision there."""
        completable = self.domain == "completable"
        return self.spec.need if completable else np.zeros(self.spec.states, np.int64)

    def length(self, state: int, read: int) -> int:
        """The length of the shortest word that shows a decision made after `read` symbols."""
        return self.spec.length(state, read, self.domain)
