"""Other ways to say what attention must do.

Regular expressions and automata (`regular`) and B-RASP and C-RASP texts (`programs`) become
formulas; RASP programs (`rasp`), which compute values and not only truth, become attention
programs directly. A front end shares what is equal in a DAG and never prints a formula: some
are small as DAGs and millions of characters as text.
"""
