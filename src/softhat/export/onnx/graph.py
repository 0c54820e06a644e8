"""An ONNX graph while it grows: nodes in order, constants stored once, names counted up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Graph:
    """`op` adds a node and returns the name of its result."""

    INT64, BOOL = 7, 9  # onnx.TensorProto's codes

    def __init__(self, number: np.dtype[Any]) -> None:
        from onnx import helper

        self.number = number
        self.code = helper.np_dtype_to_tensor_dtype(number)
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        result = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def float(self, name: str) -> str:
        """As the graph's number format."""
        return self.op("Cast", name, to=self.code)

    def numbers(self, values: NDArray[Any]) -> str:
        return self._constant(np.ascontiguousarray(values, dtype=self.number))

    def ints(self, values: Any) -> str:
        return self._constant(np.asarray(values, np.int64))

    def optional(self, name: str, default: NDArray[Any]) -> None:
        """An input that has a default."""
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(default, name))

    def used(self) -> list[Any]:
        """The initializers that a node reads: ONNX Runtime warns of any other."""
        read = {name for node in self.nodes for name in node.input}
        return [tensor for tensor in self.initializers if tensor.name in read]

    def _constant(self, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"constant_{len(self._constants)}"
            self.initializers.append(numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]
