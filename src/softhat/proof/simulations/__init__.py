"""Why a simulation is right: a checker of its own for claims about softmax and hard attention.

`simulate` is not believed. It gives *evidence*, one entry a layer: on which grids the numbers of
the residual stream lie, how large they grow, the least gap of each head, its inverse temperature,
what it may leak, and how much error each coordinate may carry. `check` goes through the layers and
accepts each claim only if it follows from the claim before and the weights in between. It reads
the hard-attention transformer from its JSON document (`source`) and imports nothing of
`softhat.ahat`: neither the analysis that found the laws nor the search for temperatures.

    source      the hard-attention transformer, as its file says it
    words       hard attention exactly, softmax in intervals, word by word
    residual    what one position of the residual stream can hold, at every length
    embedding   the first residual stream
    steps       heads and feed-forward sublayers: from one residual stream to the next
    scores      two keys of one query: how far apart their scores are
    argmax      which keys share a maximum, where scores read content alone
    single      rows with one maximum
    errors      how error passes through the layers: weights, temperatures, leaks
    evidence    the claims, as they stand in the certificate
    check       the walk
"""
