"""The exam: methods that look for circuits, marked by circuits that are proved.

`paper` is the fixed list of questions (`drawing` says how it was drawn), `making` turns it into
folders, `subject` reads one of them. `hooked` shows a subject as the tools want it; the adapters
(`eap`, `auto_circuit`, `patching`, `attribution`) run methods on it, `features` probes for the
answer. `directions` are methods that look for directions, `stored` is what they should find, and
`matching` marks them. `running` collects predictions, `marking` compares them with the truth
(`intervals` says how surely), `page` draws the results. `soft` makes the soft twins, `interchange`
and `mib` speak the formats of others, `golden` writes expected values for other libraries.
"""
