"""What softhat costs: measurements behind `softhat bench` and the results page.

Each section is a function that returns tables. Ratios are always of numbers measured in the
same run on the same machine, because only those mean something.
"""
