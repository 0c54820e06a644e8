"""The same softmax in linear time.

Keys of a compiled head have two content classes and positions enter its scores linearly, so the
softmax over a whole prefix needs constant state. `forms` reads from the weights which of three
shapes a head's scores have, `kernels` sums the softmax of each shape over chunks of positions,
`runtime` runs whole models with them, and `bound` says how long a word may be in each number
format. A head whose weights have none of the shapes makes the model run densely.
"""
