"""What a document defines and imports, read off its syntax tree; by lines that look like it where there is no grammar.

A tree with errors is as good as any: what the parser could make out counts. All is bounded, whatever a text is like:
trees are walked without recursion, to a depth and a number of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from completiond.complete.context.grammars import Grammars, grammar_of
from completiond.complete.context.heads import declares_function, head_of, name_of, owner_of, skeleton_of
from completiond.complete.context.piece import IDENTIFIER, whole_lines
from completiond.complete.context.syntax import CALLABLES, COMMENTS, IMPORTS, TYPES, VALUES, WRAPPERS, children, text_of

__all__ = ["Definition", "Outline", "outline_of"]

MAX_DEFINITIONS: Final = 2000
MAX_DEPTH: Final = 8
MAX_SEEN: Final = 50_000
"""Nodes of one document that are looked at."""

_IMPORT_LINE: Final = re.compile(r"\s*(?:import|from|use|using|require|include|#\s*include|open|alias)\b.{0,400}")
_DEFINITION_LINE: Final = re.compile(
    r"\s*(?:(?:export|public|private|internal|static|abstract|final|async|local|pub|open|data|sealed)\s+){0,4}"
    r"(?:def|class|function|func|fun|fn|struct|interface|trait|enum|module|protocol|object|record|sub|proc)\s+"
    r"(?:self\.)?([^\W\d]\w*)"
)
_ALIAS: Final = re.compile(r"\bas\s+([^\W\d]\w*)")
_COMMENT_LINE: Final = re.compile(r"\s*(?:#|//|--|;|\*|/\*)")


@dataclass(frozen=True, slots=True)
class Definition:
    """``head`` is what to tell of it. ``owner``: the name of the type that it is a member of, or "". ``is_value``: a
    constant or an alias, whose name is more often a coincidence.
    """

    name: str
    first_line: int
    end_line: int
    head: str
    owner: str = ""
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """``imported``: all words in import statements, of names as of paths. ``aliases``: names that were given there
    (``import a.b as c``), with the statement's words.
    """

    definitions: tuple[Definition, ...] = ()
    imported: frozenset[str] = frozenset()
    aliases: Mapping[str, frozenset[str]] = field(default_factory=dict)


def outline_of(path: str, lines: Sequence[str], grammars: Grammars) -> Outline:
    """What the document of these lines, without their ends, defines and imports. Never raises for any text."""
    grammar = grammar_of(path)
    source = "\n".join(lines).encode("utf-8", "replace")  # an edit can leave half a character of UTF-16
    tree = grammars.parse(grammar, source)
    if tree is None:
        return _by_lines(source.decode().split("\n"))
    return _Walk(grammar, source).outline(tree.root_node)


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node to look at: ``outer`` is the outermost node around it that is part of the same definition (its
    decorators, ``export``), ``comment`` the comment before that.
    """

    node: Node
    outer: Node
    comment: Node | None
    owner: str
    depth: int


class _Walk:
    def __init__(self, grammar: str, source: bytes) -> None:
        self._grammar = grammar
        self._source = source
        self._definitions: list[Definition] = []
        self._imported: set[str] = set()
        self._aliases: dict[str, frozenset[str]] = {}

    def outline(self, root: Node) -> Outline:
        # A stack of iterators: what comes first in the text is looked at first, and nothing recurs.
        stack = [self._visits(root, None, "", 0)]
        seen = 0
        while stack and seen < MAX_SEEN and len(self._definitions) < MAX_DEFINITIONS:
            visit = next(stack[-1], None)
            if visit is None:
                stack.pop()
                continue
            seen += 1
            if (inside := self._look(visit)) is not None and visit.depth < MAX_DEPTH:
                stack.append(inside)
        return Outline(tuple(self._definitions), frozenset(self._imported), self._aliases)

    def _visits(
        self, node: Node, outer: Node | None, owner: str, depth: int, outer_comment: Node | None = None
    ) -> Iterator[_Visit]:
        comment: Node | None = None  # the first of those that stand directly before the next child
        last_row = -2
        for child in children(node):
            if child.type in COMMENTS:
                if comment is None or child.start_point.row > last_row + 1:
                    comment = child
                last_row = child.end_point.row
                continue
            if child.type == "attribute_item":  # of Rust, between a comment and what both are about
                last_row = child.end_point.row
                continue
            if child.start_point.row > last_row + 1:
                comment = None
            yield _Visit(child, outer or child, outer_comment if outer else comment, owner, depth + 1)
            comment, last_row = None, -2

    def _look(self, visit: _Visit) -> Iterator[_Visit] | None:
        """Note what a node is; what is in it, if that is to be looked at."""
        node, kind = visit.node, visit.node.type
        body = node.child_by_field_name("body")
        if kind in IMPORTS or (kind == "mod_item" and body is None):
            text = text_of(node, self._source)[:4000]
            words = IDENTIFIER.findall(text)
            self._imported.update(words)
            self._aliases.update((alias, frozenset(words)) for alias in _ALIAS.findall(text))
            return None
        if kind == "export_statement" and (source := node.child_by_field_name("source")) is not None:
            self._imported.update(IDENTIFIER.findall(text_of(source, self._source)[:400]))
        if kind == "impl_item":
            return self._visits(body, None, owner_of(node, self._source), visit.depth) if body is not None else None
        if kind in TYPES:
            name = name_of(node, self._source)
            if name:
                self._add(visit, name, skeleton_of(node, visit.outer, visit.comment, self._grammar, self._source))
            return self._visits(body, None, name, visit.depth) if body is not None and name else None
        if kind in CALLABLES:
            self._add(
                visit, name_of(node, self._source), self._head(visit), visit.owner or owner_of(node, self._source)
            )
            return None
        if kind in VALUES:
            value = node.child_by_field_name("value")
            is_function = value is not None and value.type in ("arrow_function", "function_expression")
            is_function = is_function or declares_function(node)
            # Fields are told with their type, and mean nothing without it.
            if is_function or not visit.owner:
                name = name_of(node, self._source)
                self._add(visit, name, self._head(visit), visit.owner, is_value=not is_function)
            return None
        if kind in WRAPPERS:
            # What a wrapper of one definition has before it belongs to it; other wrappers only stand around several.
            outer = visit.outer if kind in _OF_ONE else None
            return self._visits(node, outer, visit.owner, visit.depth, visit.comment)
        return None

    def _head(self, visit: _Visit) -> str:
        return head_of(visit.node, visit.outer, visit.comment, self._grammar, self._source)

    def _add(self, visit: _Visit, name: str, head: str, owner: str = "", is_value: bool = False) -> None:
        head = whole_lines(head)
        if name and head:
            first, end = visit.outer.start_point.row, visit.node.end_point.row + 1
            self._definitions.append(Definition(name, first, end, head, owner, is_value))


_OF_ONE: Final = frozenset({
    "decorated_definition", "export_statement", "template_declaration", "lexical_declaration", "variable_declaration",
    "type_declaration", "const_declaration", "var_declaration", "ambient_declaration", "expression_statement",
})  # fmt: skip


def _by_lines(lines: Sequence[str]) -> Outline:
    """Languages without a grammar: a definition is told by its first line, and a comment's line before it."""
    definitions: list[Definition] = []
    imported: set[str] = set()
    for number, line in enumerate(lines[:MAX_SEEN]):
        if not line or len(line) > 400:
            continue
        if (found := _DEFINITION_LINE.match(line)) is not None and len(definitions) < MAX_DEFINITIONS:
            above = lines[number - 1] if number else ""
            first = number - 1 if len(above) <= 400 and _COMMENT_LINE.match(above) else number
            head = whole_lines("".join(f"{one.strip()}\n" for one in lines[first : number + 1]))
            definitions.append(Definition(found[1], first, number + 1, head))
        elif _IMPORT_LINE.match(line):
            imported.update(IDENTIFIER.findall(line))
    return Outline(tuple(definitions), frozenset(imported))
