"""What the layouts and heads of stock decoders share: forms, plans of heads, one file a kind."""
