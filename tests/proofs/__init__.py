"""The machine-checked theorems, tied to the Python that they are about."""
