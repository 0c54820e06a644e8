"""For which number formats and lengths a GPT-2 export is proved right.

Of a disguised checkpoint `undisguise` reads the plain one that it stands for, and `dense_bounds`
has the bounds.
"""

from __future__ import annotations

from collections.abc import Callable

from softhat.io.errors import VoidError
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.gpt2.dense_bounds import GPT2DenseBounds
from softhat.proof.gpt2.undisguise import undisguise
from softhat.proof.stock.certificate import LengthBounds, Prover
from softhat.proof.stock.derivation import derive
from softhat.transformer.directions import Directions


class GPT2Prover(Prover):
    """What is proved of a GPT-2."""

    def disguised(self, directions: Directions) -> Callable[[], LengthBounds]:
        c = self.checkpoint
        assert isinstance(c, GPT2Checkpoint)
        if c.activation != "relu":
            raise VoidError("a disguised checkpoint is proved with the activation relu only")
        plain = undisguise(c, directions)
        derived = derive(plain, self.formulas)
        arguments = directions, self.fused, self.margin
        return lambda: GPT2DenseBounds(derived, c, plain, *arguments)

    def not_left(self) -> tuple[str, ...]:
        """Padding on the left has rows that see no key: eager attention adds the least number of
        the format to each score there, and in float16 that and a score below -16 is -inf. A row of
        -inf is not a number after the softmax, and the next block's heads read it. (In bfloat16 and
        float32 the least number absorbs every score; fused attention adds in float32.)"""
        return () if self.fused else ("float16",)

    def arithmetic(self) -> tuple[list[str], list[str]]:
        return [
            "matrix products, LayerNorm and softmax accumulate in float32, or float64 where that "
            "is stored (no TF32, no reduced-precision reductions); results are rounded once to the "
            "storage format",
        ], [
            "tanh is accurate to one unit in the last place (gelu_new)",
            "LayerNorm's mean and variance have a relative error of at most min(d + 64, 256)·2^-24",
            "1/√d_head is a power of two (d_head is 16 or 64), so dividing scores by it is exact",
        ]
