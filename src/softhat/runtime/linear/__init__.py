"""The same softmax in linear time.

Keys of a compiled head have two content classes and positions enter its scores linearly, so the
softmax over a whole prefix needs constant state. `transformer.shape_reader` reads from the weights
which shape a head's scores have, `kernels` and `shifts` sum the softmax of each shape over chunks
of positions, and `runtime` runs whole models with them; `proof.linear` says how long a word may be
in each number format. A head whose weights have none of the shapes makes the model run densely.
"""
