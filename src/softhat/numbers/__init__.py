"""Facts about numbers: rationals, laws in n, sets of positions, position features."""
