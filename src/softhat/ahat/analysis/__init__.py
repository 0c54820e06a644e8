"""What kind of hard-attention transformer it is: rows, ties, gaps, and what the weights say."""
