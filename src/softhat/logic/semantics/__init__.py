"""The truth of formulas on words: by definition, and on many words at once."""
