"""Models in the formats of other tools: PyTorch, Hugging Face, ONNX, stock GPT-2; corpora.

Optional dependencies are imported where they are used, with an error that names the extra.
"""
