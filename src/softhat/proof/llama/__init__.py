"""Why a stock Llama export is right, from its weights and configuration alone.

`checkpoint` is what a folder holds, over variables: what it computes, and for which formats and
lengths, is in `proof.stock`. `undisguise` reads one in a random basis, whose scores are bounded in
`dense_scores`, and all else in `proof.dense`.
"""
