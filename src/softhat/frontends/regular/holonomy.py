"""The holonomy decomposition of an automaton without counters: a cascade of resets.

Take the sets of states Q·w that words make of the set Q of all states, and the single states.
P is *below* R if P ⊆ R·w for some word w; the *height* of a set is the length of the longest
chain strictly below it down to a single state. The *tiles* of a set are the largest others
inside it. The state of the automaton is then a path Q ⊃ tile ⊃ tile of the tile … ⊃ {q}, one
step a height, and reading a letter a moves the path from the top. Let P be the old set at some
height and P' the new one, with P·a ⊆ P':

- P·a = P' and both have this height: then each is below the other and a maps tiles to tiles. No
  word permutes states, so with tiles labelled alike in all such sets the label *stays*.
- otherwise P·a is smaller than P', hence inside a tile of P': the label is *reset* to it.

So each level is an automaton whose letters, given the levels above, are resets or identities:
`x = stays S reset` in temporal logic, one head of attention (Krohn and Rhodes; Zeiger; Eilenberg;
Maler and Pnueli).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from softhat.frontends.regular.dfa import reached
from softhat.frontends.regular.machine import StateMachine, Total

MOST_SETS = 3_000
MOST_PATHS = 20_000

Path = tuple[int | None, ...]
"""The label at each level, top first; None where the set is already lower than the level."""
STAYS = -1


class DecompositionTooLargeError(Exception):
    """The decomposition passes a limit; the message says which."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """Levels top first. `actions[l][path above][letter]` is STAYS or the label it is reset to,
    absent where it is free; `answers[whole path][letter]` the machine's answers. The first path
    has label 0 everywhere."""

    labels: tuple[int, ...]
    """How many labels each level has."""
    actions: tuple[dict[Path, dict[int, int]], ...]
    answers: dict[Path, dict[int, str]]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The sets of states with their heights and labelled tiles, of one way to fill the machine."""

    letters: Total
    images: dict[int, tuple[int, ...]]
    """For each set of states (as bits), the set that each letter makes of it."""
    height: dict[int, int]
    tiles: dict[int, list[int]]
    """The tiles of a set by label."""

    @property
    def everything(self) -> int:
        return (1 << len(self.letters[0])) - 1

    @property
    def levels(self) -> int:
        return self.height[self.everything]


def skeleton(letters: Total) -> Skeleton:
    """Sets, heights and tiles of an automaton without counters, whose first state is 0."""
    images = _images(letters)
    by_size = sorted(images, key=lambda s: (-s.bit_count(), s))
    inside = {s: _largest_inside(s, by_size) for s in images}
    height: dict[int, int] = {}
    tiles: dict[int, list[int]] = {}
    for part in _components(images, inside):
        if part[0].bit_count() == 1:
            height.update(dict.fromkeys(part, 0))
            continue
        members = set(part)
        below = [to for s in part for to in (*images[s], *inside[s]) if to not in members]
        height.update(dict.fromkeys(part, 1 + max(height[to] for to in below)))
        tiles |= _labelled(part[0], members, images, inside)
    frame = Skeleton(letters, images, height, tiles)
    _first_path_zero(frame)
    return frame


def cascade(machine: StateMachine, frame: Skeleton) -> Cascade:
    """The cascade of a machine: what every level does on the paths that words lead to."""
    levels = frame.levels
    actions: list[dict[Path, dict[int, int]]] = [{} for _ in range(levels)]
    answers: dict[Path, dict[int, str]] = {}
    sizes = [1] * levels
    start = _first_path(frame)
    queue = [start]
    known = {start}
    for path in queue:
        state = _end(frame, path).bit_length() - 1
        answers[path] = {}
        for letter, reply in enumerate(machine.answer[state]):
            if reply is None:
                continue
            answers[path][letter] = reply
            if machine.step[state][letter] is None:
                continue
            after = []
            for level, (label, action) in enumerate(_move(frame, path, letter)):
                after.append(label)
                if action is not None:
                    actions[level].setdefault(path[:level], {})[letter] = action
                    sizes[level] = max(sizes[level], action + 1)
            to = tuple(after)
            if to not in known:
                if len(known) >= MOST_PATHS:
                    raise DecompositionTooLargeError(
                        f"more than {MOST_PATHS:,} paths through its cascade"
                    )
                known.add(to)
                queue.append(to)
    return Cascade(tuple(sizes), tuple(actions), answers)


def _move(frame: Skeleton, path: Path, letter: int) -> list[tuple[int | None, int | None]]:
    """For each level the new label and the action (None where the level is not in use)."""
    old = new = frame.everything
    moved: list[tuple[int | None, int | None]] = []
    for level, label in enumerate(path):
        height = frame.levels - level
        image = frame.images[old][letter]
        old_below = old if label is None else frame.tiles[old][label]
        if frame.height[new] < height:
            moved.append((None, None))
        elif label is not None and image == new:
            moved.append((label, STAYS))
            new = frame.tiles[new][label]
            assert frame.images[old_below][letter] == new, "a word permutes tiles"
        else:
            reset = next(k for k, tile in enumerate(frame.tiles[new]) if image & ~tile == 0)
            moved.append((reset, reset))
            new = frame.tiles[new][reset]
        old = old_below
    return moved


def _first_path(frame: Skeleton) -> Path:
    """The path of the first state: label 0 wherever a level is in use."""
    now = frame.everything
    path: list[int | None] = []
    for level in range(frame.levels):
        if frame.height[now] < frame.levels - level:
            path.append(None)
        else:
            path.append(0)
            now = frame.tiles[now][0]
    return tuple(path)


def _first_path_zero(frame: Skeleton) -> None:
    """Relabel so that state 0 is reached by label 0 at every level."""
    now = frame.everything
    while frame.height[now]:
        place = next(k for k, tile in enumerate(frame.tiles[now]) if tile & 1)
        if place:
            for other in _same_labels(frame, now):
                tiles = frame.tiles[other]
                tiles[0], tiles[place] = tiles[place], tiles[0]
        now = frame.tiles[now][0]


def _same_labels(frame: Skeleton, start: int) -> list[int]:
    """The sets that are above and below `start`: they share its labels."""
    size, height = start.bit_count(), frame.height[start]

    def alike(now: int) -> Iterator[int]:
        for to in frame.images[now]:
            if to.bit_count() == size and frame.height[to] == height:
                yield to

    return reached(start, alike)


def _end(frame: Skeleton, path: Path) -> int:
    now = frame.everything
    for label in path:
        if label is not None:
            now = frame.tiles[now][label]
    return now


def _images(letters: Total) -> dict[int, tuple[int, ...]]:
    size = len(letters[0])
    everything = (1 << size) - 1
    bits = [[1 << to for to in row] for row in letters]
    images: dict[int, tuple[int, ...]] = {}
    queue = [everything, *(1 << q for q in range(size))]
    known = set(queue)
    for now in queue:
        states = [q for q in range(size) if now >> q & 1]
        of_letters = []
        for row in bits:
            image = 0
            for q in states:
                image |= row[q]
            of_letters.append(image)
            if image not in known:
                if len(known) >= MOST_SETS:
                    raise DecompositionTooLargeError(f"more than {MOST_SETS:,} sets of states")
                known.add(image)
                queue.append(image)
        images[now] = tuple(of_letters)
    return images


def _largest_inside(whole: int, by_size: list[int]) -> list[int]:
    largest: list[int] = []
    for s in by_size:
        if s & whole == s and s != whole and not any(s & tile == s for tile in largest):
            largest.append(s)
    return largest


def _labelled(
    first: int, members: set[int], images: dict[int, tuple[int, ...]], inside: dict[int, list[int]]
) -> dict[int, list[int]]:
    """Tiles of the sets of one component, carried from set to set by letters."""
    tiles = {first: list(inside[first])}
    queue = [first]
    for now in queue:
        for letter, to in enumerate(images[now]):
            if to in members and to not in tiles:
                tiles[to] = [images[tile][letter] for tile in tiles[now]]
                queue.append(to)
    return tiles


def _components(
    images: dict[int, tuple[int, ...]], inside: dict[int, list[int]]
) -> list[list[int]]:
    """Strongly connected components of `below`, what is below first (Tarjan, without recursion)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    parts: list[list[int]] = []
    for root in images:
        if root in number:
            continue
        work = [(root, iter((*images[root], *inside[root])))]
        number[root] = low[root] = len(number)
        open_.append(root)
        is_open.add(root)
        while work:
            now, rest = work[-1]
            for to in rest:
                if to not in number:
                    number[to] = low[to] = len(number)
                    open_.append(to)
                    is_open.add(to)
                    work.append((to, iter((*images[to], *inside[to]))))
                    break
                if to in is_open:
                    low[now] = min(low[now], number[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[now])
                if low[now] == number[now]:
                    part = []
                    while True:
                        part.append(open_.pop())
                        is_open.discard(part[-1])
                        if part[-1] == now:
                            break
                    parts.append(part)
    return parts
