"""How far softmax can be from hard attention: one row, one layer, a whole model, in floats too."""
