"""The exam: methods that look for circuits, marked by circuits that are proved.

`paper` is the fixed list of questions (`drawing` says how it was drawn), `making` turns it into
folders, `subject` reads one of them. `hooked` shows a subject as the tools want it; the adapters
(`eap`, `auto_circuit`, `patching`, `attribution`) run methods on it, `features` those that look for
directions. `running` collects predictions, `marking` compares them with the truth, `page` draws
the results. `soft` makes the soft twins, `interchange` and `mib` speak the formats of others,
`golden` writes expected values for other libraries.
"""
