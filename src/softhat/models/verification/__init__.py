"""Trying to break a model: all short words, random ones, and words made to be hostile.

A verification refutes or fails to; what is proved stands in `proof`.
"""
