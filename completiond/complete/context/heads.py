"""What to tell of a definition: its signature, the first line of its documentation, and of a type its members'."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Final

from tree_sitter import Node

from completiond.complete.context.piece import IDENTIFIER, MAX_PIECE_CHARS, MAX_PIECE_LINES
from completiond.complete.context.syntax import CALLABLES, COMMENTS, TYPES, WRAPPERS, children, text_of

__all__ = ["declares_function", "head_of", "name_of", "owner_of", "skeleton_of"]

MAX_VALUE_LINES: Final = 3
"""Of a constant, or of a member that is none but a function."""
MAX_DOCUMENTATION_CHARS: Final = 160

_WORDS: Final = re.compile(r"\w.*")


def name_of(node: Node, source: bytes) -> str:
    """What a node defines, "" if that cannot be told."""
    name = node.child_by_field_name("name") or node.child_by_field_name("left")
    for _ in range(8):  # C wraps names in what is declared of them: ``*f(int a)``
        if name is not None or (inner := node.child_by_field_name("declarator")) is None:
            break
        node = inner
        name = node.child_by_field_name("name")
    text = text_of(node if name is None else name, source)[:400]
    found = IDENTIFIER.findall(text) if name is not None or IDENTIFIER.fullmatch(text) else []
    return found[-1] if found else ""  # of ``Point::norm`` the last, of ``self.x`` too


def owner_of(node: Node, source: bytes) -> str:
    """The type that the members in a Rust ``impl`` or behind a receiver of Go belong to, else ""."""
    of = node.child_by_field_name("type") if node.type == "impl_item" else node.child_by_field_name("receiver")
    if of is None:
        return ""
    found = IDENTIFIER.findall(text_of(of, source)[:400].partition("<")[0].partition("[")[0])
    return found[-1] if found else ""


def declares_function(node: Node) -> bool:
    """Whether a declaration of C, which says what it declares only inside, is that of a function."""
    inner: Node | None = node
    for _ in range(8):
        if inner is None or inner.type == "function_declarator":
            break
        inner = inner.child_by_field_name("declarator")
    return inner is not None and inner.type == "function_declarator"


def head_of(node: Node, outer: Node, comment: Node | None, grammar: str, source: bytes) -> str:
    """A function's signature, or the first lines of what has no body. ``outer`` is ``node`` with its decorators or
    modifiers, ``comment`` stands before it.
    """
    return _comment(comment, grammar, source) + _plainly(_signature(node, outer, grammar, source))


def skeleton_of(node: Node, outer: Node, comment: Node | None, grammar: str, source: bytes) -> str:
    """A type with its fields as they are and its functions' signatures."""
    body = node.child_by_field_name("body")
    if body is None:
        return _comment(comment, grammar, source) + _plainly(_lines_of(outer, node, source, MAX_PIECE_LINES))
    lines = [_indent(outer, source) + _between(outer.start_byte, body.start_byte, source).rstrip()]
    if grammar != "python":
        lines[0] += " {"
    num_chars = len(lines[0])
    for member, whole in _members(body):
        if num_chars > MAX_PIECE_CHARS or len(lines) > MAX_PIECE_LINES:
            break
        if member.type in CALLABLES:
            line = _signature(member, whole, grammar, source)
        elif member.type in TYPES:
            inner = member.child_by_field_name("body")
            end = member.end_byte if inner is None else inner.start_byte
            line = _indent(whole, source) + _between(whole.start_byte, end, source).rstrip() + " ..."
        elif (documentation := _documentation(member, source)) is not None:
            line = documentation
        elif member.type == "access_specifier":
            line = f"{_indent(whole, source)}{text_of(member, source)}:"
        else:
            line = _lines_of(whole, member, source, MAX_VALUE_LINES)
        if not line[:1].isspace() and grammar != "python" and member.start_point.row == node.start_point.row:
            line = f"{_indent(outer, source)}    {line}"  # it stands in the line that the type begins in
        lines.append(line)
        num_chars += len(line)
    if grammar == "python" and len(lines) == 1:
        lines[0] += " ..."
    if grammar != "python":
        lines.append(_indent(outer, source) + "}")
    return _comment(comment, grammar, source) + _plainly("\n".join(lines))


def _members(body: Node) -> list[tuple[Node, Node]]:
    """Each with the decorators or modifiers around it."""
    found = []
    for child in children(body):
        if child.type in COMMENTS:
            continue
        member = child
        for _ in range(3):
            inside = [one for one in children(member) if one.type in CALLABLES or one.type in TYPES]
            if member.type not in WRAPPERS or not inside:
                break
            member = inside[0]
        found.append((member, child))
        if len(found) > MAX_PIECE_LINES:
            break
    return found


def _signature(node: Node, outer: Node, grammar: str, source: bytes) -> str:
    body = node.child_by_field_name("body")
    if body is None and (value := node.child_by_field_name("value")) is not None:
        body = value.child_by_field_name("body")  # const f = () => ...
    if body is None:
        return _lines_of(outer, node, source, MAX_PIECE_LINES if node.type in CALLABLES else MAX_VALUE_LINES)
    text = _indent(outer, source) + _between(outer.start_byte, body.start_byte, source).rstrip()
    if grammar != "python":
        return text + " { ... }"
    first = next(iter(children(body)), None)
    documentation = _documentation(first, source) if first is not None else None
    return f"{text} ..." if documentation is None else f"{text}\n{documentation}"


def _documentation(statement: Node, source: bytes) -> str | None:
    """A Python documentation string's first line, closed behind it; None for other statements."""
    string = statement.named_child(0) if statement.type == "expression_statement" else statement
    if string is None or string.type != "string":
        return None
    text = text_of(string, source)
    opening = re.match(r"[a-zA-Z]{0,2}(\"\"\"|'''|\"|')", text)
    if opening is None or "\n" not in text:
        return _indent(statement, source) + text[:MAX_DOCUMENTATION_CHARS]
    inside = text[opening.end() :].lstrip()
    first = inside.partition("\n")[0].rstrip()[:MAX_DOCUMENTATION_CHARS]
    return f"{_indent(statement, source)}{opening[0]}{first}{opening[1]}"


def _comment(comment: Node | None, grammar: str, source: bytes) -> str:
    """The first line of a comment that has words, as a line of its own; "" where there is none."""
    if comment is None or (found := _WORDS.search(text_of(comment, source)[:2000])) is None:
        return ""
    words = found[0].removesuffix("*/").rstrip()[:MAX_DOCUMENTATION_CHARS]
    return f"# {words}\n" if grammar == "python" else f"// {words}\n"


def _lines_of(outer: Node, node: Node, source: bytes, max_lines: int) -> str:
    text = _indent(outer, source) + _between(outer.start_byte, max(node.end_byte, outer.start_byte), source)
    lines = text.split("\n")
    return "\n".join(lines[:max_lines])


def _between(start: int, end: int, source: bytes) -> str:
    return source[start : min(end, start + 4 * MAX_PIECE_CHARS)].decode("utf-8", "replace")


def _indent(node: Node, source: bytes) -> str:
    """The blanks before a node that begins its line: what is behind it is indented by as much."""
    before = source[max(0, node.start_byte - node.start_point.column) : node.start_byte][:MAX_DOCUMENTATION_CHARS]
    return before.decode("utf-8", "replace") if not before.strip() else ""


def _plainly(text: str) -> str:
    return dedent(text).rstrip() + "\n"
