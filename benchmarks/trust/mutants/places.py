"""One-token changes of a module's source: where they can be made, and making one.

Comparisons, arithmetic, numbers, truth values, and/or, not, signs, least and largest. Annotations,
texts, and what only words an error or a warning are left alone.
"""

import ast
import io
import itertools
import tokenize
from typing import NamedTuple

COMPARISONS = {
    "<": ["<=", ">"],
    "<=": ["<", ">"],
    ">": [">=", "<"],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
}
WORDED = {
    ast.In: {"in": ["not in"]},
    ast.NotIn: {"not": [""]},
    ast.Is: {"is": ["is not"]},
    ast.IsNot: {"not": [""]},
}
ARITHMETIC = {
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "//": ["*"],
    "%": ["*"],
    "**": ["*"],
    "&": ["|"],
    "|": ["&"],
    "+=": ["-="],
    "-=": ["+="],
    "*=": ["/="],
    "/=": ["*="],
    "|=": ["&="],
    "&=": ["|="],
}
PAIRS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("ceil", "floor"),
    ("sum", "mean"),
]
NAMES = {a: [b] for a, b in PAIRS} | {b: [a] for a, b in PAIRS}
WORDS = ("stacklevel", "match", "prefix")  # keywords of what is only said


class Mutant(NamedTuple):
    """A token at a line (from 1) and a column (from 0), and what stands there instead."""

    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column} {self.old} -> {self.new or 'nothing'}"


def mutants_of(source: str) -> list[Mutant]:
    """All changes, in the order of the source."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(set(finder.found))


def changed(source: str, mutant: Mutant) -> str:
    """The source with one token changed."""
    lines = source.splitlines(keepends=True)
    line, at = lines[mutant.line - 1], mutant.column
    if not line.startswith(mutant.old, at):
        raise ValueError(f"{mutant}: another token stands there")
    lines[mutant.line - 1] = line[:at] + mutant.new + line[at + len(mutant.old) :]
    return "".join(lines)


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str):
        self.found: list[Mutant] = []
        kinds = (tokenize.OP, tokenize.NAME, tokenize.NUMBER)
        read = tokenize.generate_tokens(io.StringIO(source).readline)
        self.tokens = [(t.start, t.string) for t in read if t.type in kinds]
        self.lines = source.splitlines()

    def _between(self, left: ast.AST, right: ast.AST, table: dict) -> None:
        """The operator between two operands."""
        begin = (left.end_lineno, self._column(left.end_lineno, left.end_col_offset))
        end = (right.lineno, self._column(right.lineno, right.col_offset))
        for start, text in self.tokens:
            if begin <= start < end and text in table:
                self.found += [Mutant(*start, text, new) for new in table[text]]
                return

    def _column(self, line: int, offset: int) -> int:
        """A column in characters: the tree counts bytes."""
        return len(self.lines[line - 1].encode()[:offset].decode())

    def _at(self, node: ast.AST, old: str, new: str) -> None:
        """The token that a node begins with."""
        self.found.append(Mutant(node.lineno, self._column(node.lineno, node.col_offset), old, new))

    # ------------------------------------------------------------------ what is changed
    def visit_Compare(self, node):
        for (left, right), kind in zip(
            itertools.pairwise([node.left, *node.comparators]), node.ops, strict=True
        ):
            self._between(left, right, WORDED.get(type(kind), COMPARISONS))
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if not any(_is_text(operand) for operand in (node.left, node.right)):
            self._between(node.left, node.right, ARITHMETIC)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self._between(node.target, node.value, ARITHMETIC)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in itertools.pairwise(node.values):
            self._between(left, right, {"and": ["or"], "or": ["and"]})
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self._at(node, "not ", "")
        elif isinstance(node.op, ast.USub):
            self._at(node, "-", "")
        self.generic_visit(node)

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self._at(node, str(value), str(not value))
        elif isinstance(value, int | float) and node.lineno == node.end_lineno:
            line = self.lines[node.lineno - 1].encode()
            old = line[node.col_offset : node.end_col_offset].decode()
            new = {0: 1, 1: 0}.get(value, value + 1) if isinstance(value, int) else 2 * value or 1.0
            self._at(node, old, repr(new))

    def visit_Call(self, node):
        name = node.func
        if isinstance(name, ast.Name) and name.id in NAMES:
            self._at(name, name.id, NAMES[name.id][0])
        elif isinstance(name, ast.Attribute) and name.attr in NAMES:
            column = self._column(name.end_lineno, name.end_col_offset) - len(name.attr)
            self.found.append(Mutant(name.end_lineno, column, name.attr, NAMES[name.attr][0]))
        said = isinstance(name, ast.Attribute) and name.attr == "warn"
        for part in [] if said else [name, *node.args, *node.keywords]:
            self.visit(part)

    # ------------------------------------------------------------------ what is left alone
    def visit_keyword(self, node):
        if node.arg not in WORDS:
            self.visit(node.value)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node):
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        for line in node.body:
            self.visit(line)

    def visit_Raise(self, node):
        pass

    def visit_JoinedStr(self, node):
        pass


def _is_text(node: ast.AST) -> bool:
    """Whether an operand is a text that is put together."""
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)
