"""Softmax transformers that simulate hard ones: temperatures, certificates, folders, checks."""
