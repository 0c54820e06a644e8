"""From formulas to text, with as few parentheses as the grammar allows.

The text parses back to an equal formula. Printing walks with its own stack and joins the
pieces once, so it takes time linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.decimals import to_digits
from softhat.logic.syntax.definitions import shared
from softhat.logic.syntax.nodes import Comparison, Counting, Node, Unary
from softhat.logic.syntax.signs import SIGNS, TEMPORAL, UNICODE
from softhat.logic.syntax.tokens import quote
from softhat.logic.syntax.walk import distinct

# Precedence, loose to tight, as in the grammar.
_IFF, _IMPLIES, _OR, _AND, _TEMPORAL, _UNARY, _ATOM = range(7)
_SUM, _PRODUCT, _MEASURE = range(3)

# operator, level, levels that the left and the right operand must have at least
_BINARY: dict[type[Node], tuple[str, int, int, int]] = {
    nodes.Iff: ("<->", _IFF, _IFF, _IMPLIES),
    nodes.Implies: ("->", _IMPLIES, _OR, _IMPLIES),
    nodes.Or: ("|", _OR, _OR, _AND),
    nodes.Xor: ("xor", _OR, _OR, _AND),
    nodes.And: ("&", _AND, _AND, _TEMPORAL),
    **{kind: (letter, _TEMPORAL, _UNARY, _TEMPORAL) for letter, kind in TEMPORAL.items()},
    nodes.Sum: ("+", _SUM, _SUM, _PRODUCT),
    nodes.Difference: ("-", _SUM, _SUM, _PRODUCT),
}
_SIGNS = {sign: f" {sign} " for sign, *_ in _BINARY.values()}
_PRETTY_SIGNS = {sign: f" {UNICODE.get(sign, sign)} " for sign in _SIGNS}
_PLAIN = 20_000  # nodes; longer texts name what they share
_LONGEST = 1 << 28  # operators; only formulas that share subformulas in memory get there


def to_text(node: Node) -> str:
    """The formula or term as it is written, with minimal parentheses; with definitions if it
    would be long only because it shares subformulas."""
    return _text(node, {})


def to_unicode(node: Node) -> str:
    """The formula with the signs of logic: `¬a ∧ ⊖b`."""
    return _text(node, UNICODE)


def _text(node: Node, spelling: dict[str, str]) -> str:
    size = _size(node)
    if isinstance(node, nodes.Formula) and size > max(_PLAIN, 4 * len(distinct(node)[0])):
        # It is long only because it shares subformulas.
        definitions, rest = shared(node)
        lines = [f"{name} := {_plain(body, spelling)}" for name, body in definitions]
        return "; ".join([*lines, _plain(rest, spelling)])
    return _plain(node, spelling, size)


def _plain(node: Node, spelling: dict[str, str], size: int | None = None) -> str:
    """The text, unless it is hopelessly long (a shared subformula is printed each time)."""
    if (_size(node) if size is None else size) >= _LONGEST:
        raise SofthatError(
            f"the formula would be printed with more than {_LONGEST:,} operators, because it "
            "shares subformulas: print its parts instead"
        )
    return "".join(_pieces(node, spelling, None))


def _size(node: Node) -> int:
    """The number of nodes to print, as far as it matters."""
    sizes: list[int] = []
    for _, places in distinct(node)[0]:
        size = 1
        for place in places:
            size += sizes[place]
        sizes.append(size if size < _LONGEST else _LONGEST)
    return sizes[-1]


def to_short(node: Node, limit: int = 60) -> str:
    """At most `limit` characters: the top of the formula, with … for what is further down.

    Costs O(limit) steps, however large the formula is.
    """
    # A text of `limit` characters is not nested deeper than that.
    for depth in (limit, 8, 6, 5, 4, 3, 2, 1):
        pieces, length = [], 0
        for piece in _pieces(node, {}, depth):
            pieces.append(piece)
            length += len(piece)
            if length > limit:
                break
        else:
            return "".join(pieces)
    return "".join(pieces)[: max(limit - 1, 0)] + "…"


def _pieces(root: Node, spelling: dict[str, str], depth: int | None) -> Iterator[str]:
    """The text from left to right; what is nested deeper than `depth` becomes …."""
    signs = _PRETTY_SIGNS if spelling else _SIGNS
    # To do, last first: text, or a node with the level it must have and its depth.
    todo: list[str | tuple[Node, int, int]] = [(root, 0, 0)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
            continue
        node, needed, down = item
        # Down the left operands; what comes after them waits.
        while (binary := _BINARY.get(type(node))) is not None and (depth is None or down <= depth):
            sign, level, left, right = binary
            if level < needed:
                yield "("
                todo.append(")")
            node, second = node.children
            needed, down = left, down + 1
            todo.append((second, right, down))
            todo.append(signs[sign])
        if depth is not None and down > depth and node.children:
            yield "…"
            continue
        level, parts = _layout(node, spelling, down + 1)
        if level < needed:
            yield "("
            todo.append(")")
        if len(parts) == 1 and isinstance(leaf := parts[0], str):
            yield leaf
        else:
            todo += reversed(parts)


def _layout(
    node: Node, spelling: dict[str, str], down: int
) -> tuple[int, list[str | tuple[Node, int, int]]]:
    """The level of a node without two operands, and its text with the children in their places."""
    kind = type(node)
    if isinstance(node, nodes.Symbol):
        return _ATOM, [quote(node.name)]
    if isinstance(node, Unary):
        sign = SIGNS[kind]
        spaced = f"{sign} " if sign.isalpha() else sign
        return _UNARY, [spelling.get(sign, spaced), (node.operand, _UNARY, down)]
    if isinstance(node, Counting):
        return _MEASURE, [SIGNS[kind] + "(", (node.operand, 0, down), ")"]
    if isinstance(node, nodes.UnaryWindow):
        sign = SIGNS[kind]
        shown = f"{spelling.get(sign, sign)}{nodes.bounds_text(node)} "
        return _UNARY, [shown, (node.operand, _UNARY, down)]
    if isinstance(node, nodes.BinaryWindow):
        shown = f" {SIGNS[kind]}{nodes.bounds_text(node)} "
        return _TEMPORAL, [(node.left, _UNARY, down), shown, (node.right, _TEMPORAL, down)]
    match node:
        case Comparison(left_term, relation, right_term):
            shown = f" {spelling.get(relation, relation)} "
            return _ATOM, [(left_term, _SUM, down), shown, (right_term, _SUM, down)]
        case nodes.Scale(factor, term):
            sign = _integer(factor, spelling) + spelling.get("*", "*")
            return _PRODUCT, [sign, (term, _PRODUCT, down)]
        case nodes.Integer(value):
            return _MEASURE, [_integer(value, spelling)]
        case nodes.Constant(value):
            word = "true" if value else "false"
            return _ATOM, [spelling.get(word, word)]
        case nodes.Mod(modulus, remainder):
            return _ATOM, [f"mod({to_digits(modulus)}, {to_digits(remainder)})"]
        case nodes.At(predicate):
            return _ATOM, [f"at({quote(predicate.name)})"]
        case nodes.Recall(value, code):
            return _ATOM, ["last[", (value, _AND, down), " | ", (code, 0, down), "]"]
        case nodes.Digits(before, digit):
            return _ATOM, [(before, 0, down), ", ", (digit, 0, down)]
        case nodes.Digit(key, query):
            return _ATOM, [(key, 0, down), " = ", (query, 0, down)]
        case nodes.First():
            return _ATOM, ["first"]
        case nodes.Last():
            return _ATOM, ["last"]
        case nodes.Position():
            return _MEASURE, ["i"]
        case nodes.Length():
            return _MEASURE, ["n"]
    raise AssertionError(f"no text for {kind.__name__}")


def _integer(value: int, spelling: dict[str, str]) -> str:
    return (spelling.get("-", "-") if value < 0 else "") + to_digits(abs(value))
