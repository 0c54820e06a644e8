"""Facts about numbers: formats, rationals, laws in n, sets of positions, position features."""
