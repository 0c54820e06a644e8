"""The trusted base: why a transformer is right, and to which length in which number format.

It reads weights and formulas and derives what every coordinate holds, layer by layer, in the steps
that a runtime takes (`derivation`). It imports no lowering, no runtime and no verification, so that
what has to be believed stands here alone. Nobody's word is taken. Every number of a transformer is
accounted for once (`ledger` states the invariant). The claim is the formula as written: what the
compiler made of it is proved again, for every word (`every_word`).
"""
