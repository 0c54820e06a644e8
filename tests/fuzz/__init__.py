"""Hostile input by the thousand: seeded, a slice in `make test`, 10,000 cases at full size.

Nothing may show a traceback, take longer than ten seconds, leave with another exit code than 0,
1 or 2, or be certified and wrong.
"""
