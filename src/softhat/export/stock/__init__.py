"""What GPT-2 and Llama folders share: options, files, heads, labels, verification."""
