"""For which number formats and lengths a Llama export is proved right.

Of a disguised checkpoint `undisguise` reads the plain one that it stands for, and `dense_bounds`
has the bounds.
"""

from __future__ import annotations

from collections.abc import Callable

from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.dense_bounds import LlamaDenseBounds
from softhat.proof.llama.undisguise import undisguise
from softhat.proof.stock.certificate import LengthBounds, Prover
from softhat.proof.stock.derivation import derive
from softhat.transformer.directions import Directions


class LlamaProver(Prover):
    """What is proved of a Llama, Mistral or Qwen2."""

    def disguised(self, directions: Directions) -> Callable[[], LengthBounds]:
        c = self.checkpoint
        assert isinstance(c, LlamaCheckpoint)
        for name in c.tensors:
            c.tensor(name)  # a finite one
        plain = undisguise(c, directions)
        derived = derive(plain.checkpoint, self.formulas)
        arguments = directions, self.fused, self.margin
        return lambda: LlamaDenseBounds(derived, plain, c, *arguments)

    def not_left(self) -> tuple[str, ...]:
        """Padding on the left has rows that see no key: eager attention adds the least number of
        the format to each score there. In float16 that and a score below -16 is -inf, and float64's
        is in float32, in which Llama's softmax is taken. A row of -inf is not a number after the
        softmax, and the next block's heads read it. (In bfloat16 and float32 the least number
        absorbs every score; fused attention adds in float32.)"""
        return () if self.fused else ("float16", "float64")

    def arithmetic(self) -> tuple[list[str], list[str]]:
        return [
            "matrix products and softmax accumulate in float32, or float64 where that is stored "
            "(no TF32, no reduced-precision reductions); results are rounded once to the storage "
            "format",
        ], [
            "silu is accurate to four units in the last place",
            "RMSNorm computes in float32; its mean square has a relative error of at most "
            "min(d + 4, 256)·2^-24, its reciprocal root of two units in the last place; where all "
            "squares are integers of mean 1 the factor is exactly 1",
            "rotary frequencies and angles are computed in float32, frequencies within 8·2^-24 of "
            "1/θ^(2p/d)/factor, sines within one unit in the last place, and stored in the storage "
            "format: the checkpoint is loaded in its format by from_pretrained(dtype=…), because "
            "model.to(…) would round the frequencies themselves",
            "1/√head_dim is a power of two (head_dim is 16 or 64), so dividing scores by it is "
            "exact",
        ]
