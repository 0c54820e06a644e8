"""Bounds of all rows of one head over the reachable sets.

Every key position takes its worst vector. A shared row is bounded once, for the hull of the query
errors of all that share it; so are rows that differ only in the order of their keys. Rows with a
single winner are bounded together (`single_winners`), tied ones one by one (`tied_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softhat.ahat.analysis.levels import QueryRow, Rows
from softhat.ahat.bounds.functionals import HeadPlan
from softhat.ahat.bounds.head_work import Floats, HeadOptions, HeadWork, Members
from softhat.ahat.bounds.single_winners import Batch, Queries, batches, queries, single_bounds
from softhat.ahat.bounds.tied_rows import tied_bounds
from softhat.numerics.exact import Scaled

_MOST_STORED = 12_000_000  # numbers of the batches that are stored for the next β


class HeadSets:
    """One head over the reachable sets of a length: what its bounds share, whatever β is."""

    def __init__(self, plan: HeadPlan, x: Scaled, rows: Rows, shared: Rows) -> None:
        self.options = HeadOptions(plan, x)
        self._asked, self._shared = rows, shared
        number: dict[int, int] = {}
        members: list[list[int]] = []
        self._rows: list[QueryRow] = []
        for me, row in enumerate(row for place in shared for row in place):
            if id(row) not in number:
                number[id(row)] = len(self._rows)
                self._rows.append(row)
                members.append([])
            members[number[id(row)]].append(me)
        self._number = number
        self._members: list[Members] = [np.array(m) for m in members]
        self._first = np.array([m[0] for m in members], dtype=np.int64)
        self._alike = self._classes()
        self._stored: tuple[tuple[int, ...], list[Batch]] = ((), [])

    def bounds(self, error: Floats, beta: float) -> tuple[list[list[Floats]], float]:
        """[position][vector]: (outcomes, 2r) bounds of what the head adds; the greatest leak."""
        work = HeadWork(self.options, error, beta)
        asked = queries(work, self._rows, self._members)
        like = self._representatives(work, asked)
        width = 2 * work.plan.output.shape[0]
        by_row: dict[int, Floats] = {}
        leak = 0.0
        numbers = tuple(dict.fromkeys(like))
        for number in numbers:
            row = self._rows[number]
            by_row[number] = np.full((len(row.outcomes), width), -np.inf if row.keys else 0.0)
        for batch in self._batches(numbers):
            singles, most = single_bounds(work, batch, asked, self._first)
            leak = max(leak, most)
            ends = np.flatnonzero(np.diff(batch.row, append=-1)) + 1
            for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
                row_bounds = by_row[int(batch.row[start])]
                np.maximum.at(row_bounds, batch.outcome[start:end], singles[start:end])
        for number in numbers:
            row, me = self._rows[number], self._members[number]
            leak = max(leak, tied_bounds(work, row, me, by_row[number]))
        return self._spread(like, by_row), leak

    def _spread(self, like: list[int], by_row: dict[int, Floats]) -> list[list[Floats]]:
        """The bounds of the rows that were bounded, given to all that are like them."""
        by_value: dict[int, dict[tuple[tuple[int, ...], int], Floats]] = {}

        def of(row: QueryRow, whole: QueryRow) -> Floats:
            mine = self._number[id(whole)]
            number = like[mine]
            if row is self._rows[number]:
                return by_row[number]
            if number not in by_value:
                outcomes = self._rows[number].outcomes
                by_value[number] = {
                    (o.value, o.den): bound
                    for o, bound in zip(outcomes, by_row[number], strict=True)
                }
            return np.stack([by_value[number][o.value, o.den] for o in row.outcomes])

        return [
            [of(row, whole) for row, whole in zip(place, place_shared, strict=True)]
            for place, place_shared in zip(self._asked, self._shared, strict=True)
        ]

    def _batches(self, numbers: tuple[int, ...]) -> Iterator[Batch]:
        """The single winners of these rows; stored where memory allows."""
        if self._stored[0] == numbers:
            yield from self._stored[1]
            return
        stored: list[Batch] = []
        size = 0
        for batch in batches(self.options, self._rows, numbers):
            yield batch
            size += batch.size
            stored = [*stored, batch] if size <= _MOST_STORED else []
        self._stored = (numbers, stored) if size <= _MOST_STORED else ((), [])

    def _classes(self) -> list[list[int]]:
        """Rows that are alike but for errors, in classes of several."""
        classes: dict[tuple[bytes, ...], list[int]] = {}
        for number, row in enumerate(self._rows):
            query = self.options.query[self._first[number]].tobytes()
            signature = (query, *_groups(self.options.kind_of, row))
            classes.setdefault(signature, []).append(number)
        return [numbers for numbers in classes.values() if len(numbers) > 1]

    def _representatives(self, work: HeadWork, asked: Queries) -> list[int]:
        """For each row the first that has the same bounds: the order of keys plays no part."""
        result = list(range(len(self._rows)))
        if not self._alike:
            return result
        kinds = work.kinds()
        for numbers in self._alike:
            known: dict[tuple[bytes, ...], int] = {}
            for number in numbers:
                errors = asked.low[number].tobytes() + asked.high[number].tobytes()
                signature = (errors, *_groups(kinds, self._rows[number]))
                result[number] = known.setdefault(signature, number)
        return result


def _groups(kinds: Members, row: QueryRow) -> list[bytes]:
    """What each key position can hold, whatever the order."""
    groups = np.split(kinds[row.options], row.starts[1:])
    return sorted(np.sort(group).tobytes() for group in groups)
