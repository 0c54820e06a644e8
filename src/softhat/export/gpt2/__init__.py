"""An unmodified GPT-2: its folder written, read back, labelled, disguised."""
