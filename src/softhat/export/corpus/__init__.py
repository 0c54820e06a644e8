"""Many compiled models with their formulas, labels and sample words."""
