"""Formulas as immutable values, from text and to text."""
