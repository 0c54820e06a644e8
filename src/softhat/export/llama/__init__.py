"""An unmodified Llama, Mistral or Qwen2: its folder written, read back, labelled, disguised."""
