"""B-RASP and C-RASP programs as formulas, definition by definition.

A Boolean vector is a formula. A number is a list of cases, (formula that says when, counting
term), because of conditionals, minima and maxima; a comparison is the disjunction over them.

Attention: what S(i, j) and V(i, j) say of i takes few combinations of truth values (the symbol
at i is one of them, with many values). For each combination S and V speak of j alone, and

    rightmost j < i   value  Y(!S S (S & V))            found  Y O S
    leftmost  j < i   value  Y O (S & !Y O S & V)       found  Y O S

mirrored for j > i, without `Y` for j <= i, and both directions joined where there is no mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from softhat.frontends.programs import syntax
from softhat.frontends.programs.parse import parse_program
from softhat.frontends.programs.syntax import Expression, Variable
from softhat.io.errors import FormulaError
from softhat.logic.connectives import all_of, any_of, negation
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, FIRST, LAST, TRUE, Formula, Term
from softhat.program.selections import count_seen

MOST_CASES = 256
"""Cases of a number, and ways in which attention may depend on i."""

Cases = tuple[tuple[Formula, Term], ...]


def from_program(text: str) -> Formula:
    """The formula of a B-RASP or C-RASP program: what its `accept` line names (else its last
    definition) holds at a position iff the formula does. `FormulaError` where it makes no sense."""
    program = parse_program(text)
    translation = _ProgramTranslation(text)
    for name, body in program.definitions.items():
        translation.define(name, body)
    accepted = translation.known[program.accept]
    if not isinstance(accepted, Formula):
        raise FormulaError(
            f"{program.accept} is a number: a program accepts by a Boolean, such as "
            f"P(i) := {program.accept}(i) > 0",
            program.start,
            text,
        )
    return accepted


def symbols_of(text: str) -> list[str]:
    """The symbols that a program asks for, sorted."""
    symbols = set()
    stack = list(parse_program(text).definitions.values())
    while stack:
        node = stack.pop()
        if isinstance(node, syntax.AtomExpression) and node.kind == "symbol":
            symbols.add(node.name)
        stack.extend(node.parts)
    return sorted(symbols)


class _ProgramTranslation:
    """The definitions so far: a formula each, or the cases of a number."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[str, Formula | Cases] = {}

    def define(self, name: str, body: Expression) -> None:
        number = self.is_number(body)
        self.known[name] = self.cases(body, "i") if number else self.formula(body, "i", {})

    def fault(self, message: str, node: Expression) -> FormulaError:
        return FormulaError(message, node.start, self.text)

    def value(self, node: syntax.AtomExpression) -> Formula | Cases:
        if node.name not in self.known:
            raise self.fault(f"{node.name} is not defined before this line", node)
        return self.known[node.name]

    def is_number(self, node: Expression) -> bool:
        match node:
            case syntax.AtomExpression(kind="vector"):
                return not isinstance(self.value(node), Formula)
            case syntax.ChoiceExpression(_, _, then, _):
                return self.is_number(then)
            # 0 and 1 alone are false and true
            case syntax.WholeExpression(_, value):
                return value not in (0, 1)
            case syntax.CountOf() | syntax.PlaceExpression() | syntax.Times():
                return True
            case syntax.Operation(kind="+" | "-" | "min" | "max"):
                return True
        return False

    # Booleans

    def formula(self, node: Expression, at: Variable, assumed: dict[Formula, bool]) -> Formula:
        """What a Boolean expression says of the position `at`. Inside attention `at` is j, and
        `given` has the truth values of all that is said of i."""
        if at == "j" and (about := self.about_i(node)) is not None:
            if isinstance(about, str):
                return TRUE if assumed.get(nodes.Symbol(about), False) else FALSE
            return TRUE if assumed[about] else FALSE
        match node:
            case syntax.Truth(_, value):
                return TRUE if value else FALSE
            case syntax.WholeExpression(_, 0 | 1 as value):
                return TRUE if value else FALSE
            case syntax.AtomExpression(_, kind, name, where):
                self.check_variable(node, where, at)
                if kind == "symbol":
                    return nodes.Symbol(name)
                if kind == "end":
                    return FIRST if name == "first" else LAST
                known = self.value(node)
                if isinstance(known, Formula):
                    return known
                raise self.fault(f"{name} is a number, but a Boolean is needed here", node)
            case syntax.IsMod(_, where, modulus, remainder):
                self.check_variable(node, where, at)
                return nodes.Mod(modulus, remainder)
            case syntax.Negation(_, operand):
                return negation(self.formula(operand, at, assumed))
            case syntax.Operation(_, "&" | "|" | "xor" | "->" | "<->" as gate, left, right):
                f, g = self.formula(left, at, assumed), self.formula(right, at, assumed)
                return _gate(gate, f, g)
            case syntax.ChoiceExpression(_, condition, then, otherwise):
                c, t, e = (self.formula(x, at, assumed) for x in (condition, then, otherwise))
                return any_of([all_of([c, t]), all_of([negation(c), e])])
            case syntax.Operation(_, "<" | "<=" | "=" | "!=" | ">=" | ">" as relation, left, right):
                return self.comparison(left, relation, right, at)
            case syntax.AttentionExpression():
                if at == "j":
                    raise self.fault("attention inside attention: name the inner one first", node)
                return self.attention(node)
        raise self.fault("this is a number, but a Boolean is needed here", node)

    def check_variable(self, node: Expression, where: Variable, at: Variable) -> None:
        if where != at:
            raise self.fault(
                "j stands only inside [ ] and in what attention returns, not here", node
            )

    def about_i(self, node: Expression) -> Formula | str | None:
        """Inside attention: an atom about i, as its formula or (for symbols) the symbol."""
        match node:
            case syntax.AtomExpression(_, "symbol", symbol, "i"):
                return symbol
            case syntax.AtomExpression(_, _, _, "i") | syntax.IsMod(_, "i", _, _):
                return self.formula(node, "i", {})
            case syntax.Operation(_, "<" | "<=" | "=" | "!=" | ">=" | ">", left, right):
                named = _variables(left) | _variables(right)
                if "i" in named and "j" in named:
                    raise self.fault(
                        "this compares numbers at i with numbers at j: attention looks for "
                        "Booleans, so compare with a constant or define P(i) := … first",
                        node,
                    )
                if "i" in named:
                    return self.formula(node, "i", {})
        return None

    def comparison(
        self, left: Expression, relation: syntax.Relation, right: Expression, at: Variable
    ) -> Formula:
        sides = self.cases(left, at), self.cases(right, at)
        self.check_cases(len(sides[0]) * len(sides[1]), left)
        return any_of(
            all_of([g, h, nodes.Comparison(t, relation, u)]) for (g, t), (h, u) in product(*sides)
        )

    # Numbers

    def check_cases(self, count: int, node: Expression) -> None:
        if count > MOST_CASES:
            raise self.fault(
                f"this has {count:,} cases, {MOST_CASES} are the most: use fewer conditionals, "
                "minima and maxima",
                node,
            )

    def cases(self, node: Expression, at: Variable) -> Cases:
        """A number as (when, term) cases, of which exactly one holds."""
        match node:
            case syntax.WholeExpression(_, value):
                return ((TRUE, nodes.Integer(value)),)
            case syntax.PlaceExpression(_, of):
                if of == "n":
                    return ((TRUE, nodes.length),)
                self.check_variable(node, of, at)
                return ((TRUE, nodes.position),)
            case syntax.AtomExpression(_, "vector", name, where):
                self.check_variable(node, where, at)
                known = self.value(node)
                if isinstance(known, Formula):
                    raise self.fault(f"{name} is a Boolean, but a number is needed here", node)
                return known
            case syntax.Times(_, factor, term):
                return tuple((g, nodes.Scale(factor, t)) for g, t in self.cases(term, at))
            case syntax.Operation(_, "+" | "-" as sign, left, right):
                join = nodes.Sum if sign == "+" else nodes.Difference
                pairs = product(self.cases(left, at), self.cases(right, at))
                return self.merged([(all_of([g, h]), join(t, u)) for (g, t), (h, u) in pairs], node)
            case syntax.Operation(_, "min" | "max" as kind, left, right):
                guarded: list[tuple[Formula, Term]] = []
                for (g, t), (h, u) in product(self.cases(left, at), self.cases(right, at)):
                    first = nodes.Comparison(t, "<=" if kind == "min" else ">=", u)
                    guarded.append((all_of([g, h, first]), t))
                    guarded.append((all_of([g, h, negation(first)]), u))
                return self.merged(guarded, node)
            case syntax.ChoiceExpression(_, condition, then, otherwise):
                c = self.formula(condition, at, {})
                yes = [(all_of([c, g]), t) for g, t in self.cases(then, at)]
                no = [(all_of([negation(c), g]), t) for g, t in self.cases(otherwise, at)]
                return self.merged(yes + no, node)
            case syntax.CountOf(_, mask, body):
                if at == "j":
                    raise self.fault("a count inside attention: name the count first", node)
                return self.merged(
                    [(g, _count(mask, f)) for g, (f,) in self.split([body], node)], node
                )
        raise self.fault("this is a Boolean, but a number is needed here", node)

    def merged(self, guarded: list[tuple[Formula, Term]], node: Expression) -> Cases:
        together: dict[Term, list[Formula]] = {}
        for guard, term in guarded:
            if guard != FALSE:
                together.setdefault(term, []).append(guard)
        self.check_cases(len(together), node)
        return tuple((any_of(guards), term) for term, guards in together.items())

    # Attention

    def attention(self, node: syntax.AttentionExpression) -> Formula:
        default = self.formula(node.default, "i", {})
        results = []
        for guard, (score, value) in self.split([node.score, node.value], node):
            attends, seen = _attend(node.side, node.mask, score, value)
            results.append(all_of([guard, any_of([seen, all_of([default, negation(attends)])])]))
        return any_of(results)

    def split(
        self, bodies: Sequence[Expression], node: Expression
    ) -> Iterator[tuple[Formula, tuple[Formula, ...]]]:
        """For each combination of what the bodies say of i: when it holds, and what the bodies then
        say of j. Combinations that say the same of j are joined."""
        symbols: dict[str, None] = {}
        atoms: dict[Formula, None] = {}
        stack = list(bodies)
        while stack:
            part = stack.pop()
            about = self.about_i(part)
            if isinstance(about, str):
                symbols[about] = None
            elif about is not None:
                atoms[about] = None
            else:
                stack.extend(reversed(part.parts))
        free = [atom for atom in atoms if atom not in (TRUE, FALSE)]
        fixed = {atom: atom == TRUE for atom in atoms if atom in (TRUE, FALSE)}
        values: list[str | None] = [*symbols, None]
        self.check_cases(len(values) * 2 ** min(len(free), 20), node)
        together: dict[tuple[Formula, ...], list[Formula]] = {}
        for here, truths in product(values, product((True, False), repeat=len(free))):
            assumed: dict[Formula, bool] = {**fixed, **dict(zip(free, truths, strict=True))}
            parts = [atom if assumed[atom] else negation(atom) for atom in free]
            if here is None:
                parts += [negation(nodes.Symbol(symbol)) for symbol in symbols]
            else:
                assumed[nodes.Symbol(here)] = True
                parts.append(nodes.Symbol(here))
            left = tuple(self.formula(body, "j", assumed) for body in bodies)
            together.setdefault(left, []).append(all_of(parts))
        if len(together) == 1:
            yield TRUE, next(iter(together))
            return
        for left, guards in together.items():
            yield any_of(guards), left


def _variables(node: Expression) -> set[str]:
    """The positions whose values a number depends on."""
    match node:
        case syntax.AtomExpression(_, "vector", _, at):
            return {at}
        case syntax.PlaceExpression(_, of):
            return set() if of == "n" else {of}
    return {v for part in node.parts for v in _variables(part)}


def _gate(kind: str, f: Formula, g: Formula) -> Formula:
    match kind:
        case "&":
            return all_of([f, g])
        case "|":
            return any_of([f, g])
        case "->":
            return any_of([negation(f), g])
    for constant, other in ((f, g), (g, f)):
        if constant in (TRUE, FALSE):
            return other if (constant == TRUE) == (kind == "<->") else negation(other)
    return nodes.Xor(f, g) if kind == "xor" else nodes.Iff(f, g)


def _count(mask: syntax.Mask, f: Formula) -> Term:
    """How many j of the mask satisfy f."""
    return nodes.Integer(0) if f == FALSE else count_seen(f, mask)


def _attend(
    side: str, mask: syntax.Mask, score: Formula, value: Formula
) -> tuple[Formula, Formula]:
    """(some j is found, one is found and the value holds there)."""
    if score == FALSE:
        return FALSE, FALSE
    hit = all_of([score, value])
    back, ahead = nodes.Once(score), nodes.Eventually(score)
    near_back = _within(nodes.Since(negation(score), hit), hit, score)
    near_ahead = _within(nodes.Until(negation(score), hit), hit, score)
    first = _applied(nodes.Once, all_of([hit, negation(nodes.Yesterday(back))]))
    last = _applied(nodes.Eventually, all_of([hit, negation(nodes.Tomorrow(ahead))]))
    behind = near_back if side == "rightmost" else first
    before = near_ahead if side == "leftmost" else last
    match mask:
        case "<=":
            return back, behind
        case "<":
            return nodes.Yesterday(back), _applied(nodes.Yesterday, behind)
        case ">=":
            return ahead, before
        case ">":
            return nodes.Tomorrow(ahead), _applied(nodes.Tomorrow, before)
    some = any_of([back, ahead])
    if side == "rightmost":
        return some, any_of([last, all_of([negation(ahead), near_back])])
    return some, any_of([first, all_of([negation(back), near_ahead])])


def _within(walk: Formula, hit: Formula, score: Formula) -> Formula:
    """The nearest hit: nothing to walk past where every position is looked at."""
    return hit if score == TRUE or hit == FALSE else walk


def _applied(operator: type[nodes.Unary], formula: Formula) -> Formula:
    """The operator of the formula, where it is not trivially false."""
    return FALSE if formula == FALSE else operator(formula)
