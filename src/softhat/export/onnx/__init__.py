"""ONNX: the graph written, and read back."""
