"""What a transformer computes, in numbers of any kind: formats, kernels, the walk of a layer."""
