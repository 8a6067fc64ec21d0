"""LP files (CPLEX's)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from optsched.files.contents import Contents, FilePosition

_SECTIONS = {
    "maximize": r"max(imi[sz]e|imum)?",
    "minimize": r"min(imi[sz]e|imum)?",
    "subject to": r"subject\s+to|such\s+that|s\.?t\.?",
    "bounds": r"bounds?",
    "general": r"gen(erals?)?|int(egers?)?",
    "binary": r"bin(ary|aries)?",
    "semi": r"semis?|semi-continuous",
    "sos": r"sos",
    "end": r"end",
}
_HEAD = re.compile(
    r"\s*(?:" + "|".join(f"(?P<s{i}>{form})" for i, form in enumerate(_SECTIONS.values()))
    + r")(?=\s|$)(?!\s*:)", re.IGNORECASE,
)  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<sign><=|=<|>=|=>|->|::|[<>=:\[\]^*/+-])"
    r"|(?P<name>[A-Za-z_!\"#$%&(),.;?@'`{|}~](?:[\w!\"#$%&(),./;?@'`{|}~]|\[[^][\s]*\])*))"
)
_LABEL = re.compile(r"\s*([^\s:]+)\s*:(?!:)")
"""At the beginning of a line any word, as MPS files have it: tools write ``10: x + y <= 3``."""
_RELATIONS = {"<=": "<=", "=<": "<=", "<": "<=", ">=": ">=", "=>": ">=", ">": ">=", "=": "="}
_FLIPPED = {"<=": ">=", ">=": "<=", "=": "="}
_INFINITE = re.compile(r"inf(inity)?", re.IGNORECASE)


class _Token(NamedTuple):
    text: str
    kind: str
    line: int


_NOTHING = _Token("", "", 0)


def read_lp(lines: Iterable[str], place: FilePosition) -> Contents:
    """Contents of a file.

    Raises:
        InputError: naming line, value and what is allowed.
    """
    reader = _Reader(place)
    for section, tokens in _sections(lines, place):
        reader.section(section, tokens)
    return reader.found


def _sections(lines: Iterable[str], place: FilePosition) -> list[tuple[str, list[_Token]]]:
    found: list[tuple[str, list[_Token]]] = []
    for number, line in enumerate(lines, 1):
        place.line, text, at = number, line.split("\\")[0].rstrip(), 0
        if head := _HEAD.match(text):
            section = list(_SECTIONS)[int(str(head.lastgroup)[1:])]
            found.append((section, []))
            at = head.end()
            if section == "end":
                return found
        if found and (label := _LABEL.match(text, at)):
            found[-1][1].extend((_Token(label[1], "name", number), _Token(":", "sign", number)))
            at = label.end()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                place.refuse(text[at:].strip(), "a number, a name or a sign")
            if not found:
                place.refuse(text.strip(), "Minimize or Maximize before anything else")
            kind = str(token.lastgroup)
            found[-1][1].append(_Token(token[kind], kind, number))
            at = token.end()
    return place.refuse("", "End at the end")


class _Reader:
    def __init__(self, place: FilePosition) -> None:
        self._place = place
        self.found = Contents()
        self._tokens: list[_Token] = []
        self._at = 0
        self._before: tuple[str, dict[int, float]] = "", {}  # the last row without a guard

    def section(self, name: str, tokens: list[_Token]) -> None:
        self._tokens, self._at = tokens, 0
        if name in ("maximize", "minimize"):
            self.found.maximise = name == "maximize"
            self._objective()
        statement = {"subject to": self._row, "bounds": self._bound, "sos": self._set}.get(name)
        while self._at < len(tokens):
            if name in ("maximize", "minimize"):
                self._refuse("the objective's next term, or Subject To")
            elif statement is not None:
                statement()
            else:
                self._kind(name)

    # tokens

    def _peek(self, ahead: int = 0) -> _Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else _NOTHING

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        self._place.line = token.line or self._place.line
        return token

    def _refuse(self, allowed: str) -> None:
        self._place.refuse(self._next().text, allowed)

    def _take(self, *texts: str) -> str:
        if self._peek().text not in texts:
            self._refuse(" or ".join(texts))
        return self._next().text

    def _name(self, what: str) -> str:
        if self._peek().kind != "name":
            self._refuse(what)
        return self._next().text

    def _column(self) -> int:
        name = self._name("the name of a column")
        column = self.found.columns.get(name)
        return self.found.add_column(name) if column is None else column

    def _relation(self) -> str:
        return _RELATIONS[self._take(*_RELATIONS)]

    def _signs(self) -> float:
        sign = 1.0
        while self._peek().text in ("+", "-"):
            sign *= -1.0 if self._next().text == "-" else 1.0
        return sign

    def _number(self) -> float:
        sign, token = self._signs(), self._peek()
        if token.kind == "number" or _INFINITE.fullmatch(token.text):
            return sign * self._place.number(self._next().text)
        self._refuse("a number")
        return sign

    def _label(self) -> str:
        if self._peek().kind == "name" and self._peek(1).text == ":":
            name = self._next().text
            self._next()
            return name
        return ""

    # sums

    def _sum(self) -> tuple[dict[int, float], float]:
        """Coefficients by column, and the constant; squares go to the objective."""
        weights: dict[int, float] = {}
        constant, first = 0.0, self._peek().text not in _RELATIONS
        while self._peek().text and (first or self._peek().text in ("+", "-")):
            sign, first = self._signs(), False
            if self._peek().text == "[":
                self._squares(sign)
                continue
            value, column = self._term(sign)
            if column is None:
                constant += value
            else:
                weights[column] = weights.get(column, 0.0) + value
        return weights, constant

    def _term(self, sign: float) -> tuple[float, int | None]:
        if self._peek().kind == "number" or _INFINITE.fullmatch(self._peek().text):
            word = self._next().text
            if self._peek().text != "*" and self._peek().kind != "name":
                return sign * self._place.number(word), None
            sign *= self._place.finite(word)
            if self._peek().text == "*":
                self._next()
        return sign, self._column()

    def _squares(self, sign: float) -> None:
        if self.found.row_lower:
            self._refuse("squares in the objective only")
        self._next()
        terms = []
        while self._peek().text != "]":
            value, one = self._term(self._signs())
            if one is None:
                self._refuse("a column, ^ 2, or a product of two columns")
                continue
            if self._take("^", "*") == "*":
                other = self._column()
            elif self._next().text == "2":
                other = one
            else:
                self._at -= 1
                self._refuse("2, the only power")
            terms.append((one, other, value))
        self._next()
        if self._peek().text == "/":
            self._next()
            self._take("2")
            sign /= 2
        for one, other, value in terms:
            self.found.add_product(one, other, sign * value)

    # sections

    def _objective(self) -> None:
        self._label()
        cost, self.found.offset = self._sum()
        self.found.cost.update(cost)

    def _row(self) -> None:
        found, name = self.found, self._label()
        name = name or f"row_{len(found.rows)}"
        if name in found.rows:
            self._place.refuse(name, "each row once")
        guard = None
        if self._peek().kind == "name" and self._peek(1).text == "=" and self._peek(3).text == "->":
            literal = self._column()
            self._next()
            guard = literal, self._take("0", "1") == "1"
            self._next()
        row = found.add_row(name, -math.inf, math.inf)
        begin, sides = self._at, []
        weights, constant = self._sum()
        if not weights and self._peek(1).text and self._at > begin:  # low <= sum <= high
            sides.append((_FLIPPED[self._relation()], constant))
            weights, constant = self._sum()
        if not sides or self._peek().text in _RELATIONS:
            sides.append((self._relation(), self._number()))
        for relation, value in sides:
            if relation in ("<=", "="):
                found.row_upper[row] = value - constant
            if relation in (">=", "="):
                found.row_lower[row] = value - constant
        if guard is None and self._completes(name, weights):
            return
        self._before = (name, weights) if guard is None else ("", {})
        found.entries.update({(row, column): v for column, v in weights.items() if v})
        if guard is not None:
            found.guards[row] = guard

    def _completes(self, name: str, weights: dict[int, float]) -> bool:
        """Whether a row is the lower side of the one before it, as files are written here."""
        lower, upper, (before, same) = self.found.row_lower, self.found.row_upper, self._before
        one_each = lower[-2:-1] == [-math.inf] and upper[-1] == math.inf
        if name != f"{before}__low" or weights != same or not one_each:
            return False
        del self.found.rows[name], upper[-1]
        lower[-2:] = lower[-1:]
        return True

    def _bound(self) -> None:
        sides = []
        token = self._peek()
        if token.kind != "name" or _INFINITE.fullmatch(token.text):
            value = self._number()
            sides.append((_FLIPPED[self._relation()], value))
        column, found = self._column(), self.found
        found.bounded_in[column] = self._place.line
        if not sides and self._peek().text.lower() == "free":
            self._next()
            found.lower[column] = -math.inf
            return
        if not sides or self._peek().text in _RELATIONS:
            sides.append((self._relation(), self._number()))
        for relation, value in sides:
            if relation in ("<=", "="):
                found.upper[column] = value
            if relation in (">=", "="):
                found.lower[column] = value

    def _kind(self, section: str) -> None:
        column, found = self._column(), self.found
        if section == "semi":
            found.semi.add(column)
            return
        found.integer.add(column)
        if section == "binary":
            found.lower[column] = max(found.lower[column], 0.0)  # bounds said before still hold
            found.upper[column] = min(found.upper[column], 1.0)

    def _set(self) -> None:
        name = self._label() or f"set_{len(self.found.sets)}"
        order = self._name("S1 or S2").upper()
        if order not in ("S1", "S2") or name in self.found.sets:
            self._at -= 1
            self._refuse("S1 or S2, of a set named once")
        self._take("::")
        members = []
        while self._peek(1).text == ":" and self._peek(2).kind != "name":  # no set's own name
            column = self._column()
            self._next()
            members.append((self._number(), column))
        self.found.sets[name] = int(order[1]), members
