"""Why a stock Llama export is right, from its weights and configuration alone.

`rope` recomputes the frequencies, `reading` derives block by block what is computed, `heads` and
`gates` recognise the parts, `scores` bounds what attention scores may be off, `bounds` everything
else, `certificate` says for which formats and lengths.
"""
