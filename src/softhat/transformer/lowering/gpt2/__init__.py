"""Attention program → stock GPT-2: heads, gates and positions under LayerNorm."""
