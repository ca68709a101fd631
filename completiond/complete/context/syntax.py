"""The kinds of nodes that tree-sitter's grammars have for what is defined, wrapped and imported, in all languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

__all__ = ["CALLABLES", "COMMENTS", "IMPORTS", "TYPES", "VALUES", "WRAPPERS", "children", "text_of"]

MAX_CHILDREN: Final = 5000

COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment"})

IMPORTS: Final = frozenset({
    "import_statement", "import_from_statement", "import_declaration", "use_declaration", "preproc_include",
    "extern_crate_declaration", "using_declaration",
})  # fmt: skip

CALLABLES: Final = frozenset({
    "function_definition", "function_declaration", "generator_function_declaration", "function_signature",
    "method_definition", "method_declaration", "method_signature", "abstract_method_signature", "method_elem",
    "constructor_declaration", "function_item", "function_signature_item", "macro_definition",
})  # fmt: skip

TYPES: Final = frozenset({
    "class_definition", "class_declaration", "abstract_class_declaration", "interface_declaration", "enum_declaration",
    "record_declaration", "annotation_type_declaration", "class_specifier", "struct_specifier", "union_specifier",
    "enum_specifier", "struct_item", "enum_item", "union_item", "trait_item", "type_spec",
})  # fmt: skip

VALUES: Final = frozenset({
    "assignment", "variable_declarator", "type_alias_declaration", "type_alias_statement", "type_alias", "type_item",
    "const_item", "static_item", "const_spec", "var_spec", "declaration", "field_declaration", "type_definition",
    "alias_declaration", "preproc_def", "preproc_function_def",
})  # fmt: skip

WRAPPERS: Final = frozenset({
    "ERROR", "ambient_declaration", "block", "const_declaration", "declaration_list", "decorated_definition",
    "else_clause", "except_clause", "export_statement", "expression_statement", "if_statement", "internal_module",
    "lexical_declaration", "linkage_specification", "mod_item", "module", "namespace_definition", "preproc_else",
    "preproc_if", "preproc_ifdef", "statement_block", "template_declaration", "try_statement", "type_declaration",
    "var_declaration", "var_spec_list", "variable_declaration",
})  # fmt: skip
"""What definitions stand in without being local to a function."""


def children(node: Node) -> Iterator[Node]:
    """The named children, the first MAX_CHILDREN of them; of a hostile text there may be a million."""
    cursor = node.walk()
    if not cursor.goto_first_child():
        return
    for _ in range(MAX_CHILDREN):
        if (child := cursor.node) is not None and child.is_named:
            yield child
        if not cursor.goto_next_sibling():
            return


def text_of(node: Node, source: bytes) -> str:
    """A node's text."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
