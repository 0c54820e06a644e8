"""Why an exported stock GPT-2 is right in floating point."""
