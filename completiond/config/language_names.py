"""Names of languages that editors give (``languageId`` of LSP), to tell a misspelled one from one that is only new."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from completiond.config.problem import shown

__all__ = ["KNOWN_LANGUAGES", "SHORT_NAMES", "doubtful_languages"]

KNOWN_LANGUAGES: Final = frozenset((
    "abap", "abc", "actionscript", "ada", "agda", "al", "ansible", "apex", "applescript", "arduino", "asciidoc",
    "asm", "asm-collection", "asp", "aspvbs", "astro", "autohotkey", "autoit", "avroidl", "awk", "bash", "bat",
    "batch", "beancount", "bibtex", "bicep", "blade", "bluespec", "brainfuck", "bsl", "bzl", "c", "c3", "cabal",
    "cairo", "capnp", "carbon", "cfg", "cfml", "chatito", "cjs", "clang", "clarity", "clojure", "clojurescript",
    "cmake", "cobol", "coffee", "coffeescript", "commonlisp", "conf", "confini", "context", "cpp", "crystal", "cs",
    "csh", "csharp", "css", "csv", "cucumber", "cuda", "cuda-cpp", "cue", "cypher", "cython", "d", "d2", "dafny",
    "dart", "dhall", "diff", "django-html", "dockerbake", "dockercompose", "dockerfile", "dosbatch", "dosini",
    "dot", "dotenv", "doxygen", "dts", "dune", "ebnf", "eco", "edge", "editorconfig", "edn", "eelixir", "ejs",
    "elixir", "elm", "elvish", "emacs-lisp", "erb", "erlang", "eruby", "expect", "fennel", "fish", "flix", "fluent",
    "forth", "fortran", "fortran-modern", "fortran_fixed-form", "fortran_free-form", "freebasic", "freemarker",
    "fsharp", "fstar", "fsx", "futhark", "gas", "gcode", "gd", "gdb", "gdresource", "gdscript", "gdshader",
    "gemfile", "genie", "genshi", "gherkin", "git", "git-commit", "git-rebase", "gitattributes", "gitcommit",
    "gitconfig", "gitignore", "gitolite", "gitrebase", "gleam", "glimmer", "glsl", "gn", "gnuplot", "go", "go.mod",
    "go.sum", "go.work", "gohtml", "gohtmltmpl", "gomod", "gosum", "gotexttmpl", "gotmpl", "gowork", "gpg",
    "graphql", "groovy", "hack", "haml", "handlebars", "haskell", "haxe", "hbs", "hcl", "heex", "helm", "help",
    "hive", "hjson", "hlsl", "hocon", "home-assistant", "hoon", "html", "html-eex", "htmlangular", "htmldjango",
    "http", "hurl", "hy", "hyprlang", "idl", "idris", "idris2", "ignore", "inform7", "ini", "ink", "io", "isabelle",
    "j", "jade", "janet", "jasmin", "java", "java-properties", "javascript", "javascript.jsx", "javascriptreact",
    "jinja", "jinja-html", "jinja2", "jproperties", "jq", "json", "json5", "jsonc", "jsonl", "jsonnet", "jsp",
    "julia", "julialang", "juliamarkdown", "just", "kcl", "kconfig", "kdl", "kivy", "koka", "kotlin", "kql",
    "kusto", "latex", "lean", "lean3", "lean4", "ledger", "less", "lex", "lhaskell", "linkerscript", "liquid",
    "lisp", "literate-coffeescript", "livescript", "llvm", "log", "logtalk", "lua", "luau", "m4", "magik", "mail",
    "make", "makefile", "man", "mariadb", "markdown", "markdown.mdx", "mason", "mathematica", "matlab", "maxima",
    "mdx", "mermaid", "meson", "mips", "mjml", "mojo", "mongodb", "moonbit", "moonscript", "move", "mql", "mssql",
    "mustache", "mysql", "n3", "nasm", "nesc", "netrw", "nginx", "nickel", "nim", "nimble", "nix", "noir", "norg",
    "nroff", "nsis", "nu", "nunjucks", "nushell", "objc", "objcpp", "objdump", "objective-c", "objective-cpp",
    "objectpascal", "ocaml", "ocaml.interface", "ocamlinterface", "ocamllex", "odin", "ol", "opencl", "openscad",
    "org", "orgmode", "p4", "pascal", "passwd", "pawn", "perl", "perl6", "pgsql", "php", "pico8", "pig",
    "pip-requirements", "pkl", "plaintext", "plantuml", "plist", "plsql", "po", "pod", "pony", "postcss",
    "postgres", "postscript", "pov", "powerquery", "powershell", "prisma", "processing", "prolog", "promql",
    "properties", "proto", "proto3", "protobuf", "ps1", "psl", "pug", "puppet", "purescript", "pyret", "pyrex",
    "python", "q", "qml", "quarto", "query", "r", "racket", "raku", "raml", "razor", "rd", "reason", "reasonml",
    "rego", "renpy", "requirements", "rescript", "rest", "restructuredtext", "rexx", "rmarkdown", "rmd", "rnoweb",
    "robot", "robotframework", "roc", "ron", "rpm-specfile", "rst", "rtf", "ruby", "rust", "sas", "sass", "scad",
    "scala", "scheme", "scilab", "scminput", "scratch", "scss", "sed", "sh", "shaderlab", "shellscript", "sieve",
    "slang", "slim", "slint", "smali", "smalltalk", "smarty", "smithy", "sml", "snakemake", "snippets", "snort",
    "solidity", "soy", "sparql", "spec", "sql", "sqlite", "ssh_config", "sshconfig", "stan", "starlark", "stata",
    "stylus", "sugarss", "surql", "svelte", "svg", "swift", "systemd", "systemverilog", "sysverilog", "tablegen",
    "tads", "tailwindcss", "tap", "tcl", "tera", "terraform", "terraform-vars", "test", "tex", "texinfo", "text",
    "textile", "thrift", "tlaplus", "tmux", "todotxt", "toml", "tpl", "tsql", "ttl", "turtle", "twig",
    "typescript", "typescript.tsx", "typescriptreact", "typespec", "typst", "unison", "v", "vala", "vb", "vba",
    "vbnet", "vbs", "vcl", "velocity", "verilog", "vhd", "vhdl", "vhs", "vim", "viml", "vlang", "vue", "vue-html",
    "wasm", "wast", "wat", "wgsl", "wit", "wolfram", "xhtml", "xml", "xonsh", "xquery", "xs", "xsd", "xsl", "xslt",
    "xtend", "yacc", "yaml", "yaml.docker-compose", "yang", "yara", "yuck", "zig", "zir", "zsh",
))  # fmt: skip
"""Of LSP's own list, of VS Code and its extensions, and of Vim's file types. Nobody has a list of all."""

SHORT_NAMES: Final = MappingProxyType({
    "c#": "csharp/cs", "c++": "cpp", "cc": "cpp", "clj": "clojure", "cxx": "cpp", "docker": "dockerfile",
    "dotnet": "csharp/cs", "erl": "erlang", "ex": "elixir", "exs": "elixir", "f#": "fsharp", "f90": "fortran",
    "golang": "go", "h": "c/cpp", "hpp": "cpp", "hs": "haskell", "htm": "html", "html5": "html", "jl": "julia",
    "js": "javascript", "jsx": "javascriptreact", "kt": "kotlin", "kts": "kotlin", "md": "markdown",
    "mjs": "javascript", "ml": "ocaml", "objectivec": "objective-c/objc", "objective-c++": "objective-cpp/objcpp",
    "pl": "perl", "pwsh": "powershell/ps1", "py": "python", "rb": "ruby", "rs": "rust",
    "shell": "shellscript/sh", "tf": "terraform", "ts": "typescript", "tsx": "typescriptreact",
    "txt": "plaintext/text", "yml": "yaml",
})  # fmt: skip
"""What people and file endings call a language, and no editor does; where editors differ, VS Code's name/Vim's."""

MIN_LIKENESS: Final = 0.8
"""Two letters that change places in a word of five are as much."""
MAX_LOOKED_UP: Final = 20
"""Of the names in one list: each costs a millisecond, and whoever wrote a repository's file has no claim to more."""
MAX_NAME_CHARS: Final = 40


def doubtful_languages(names: tuple[str, ...]) -> str:
    """Those of ``names`` that are probably misspelled, each with what was meant; empty if there are none."""
    unknown = [name for name in names if name.lower() not in KNOWN_LANGUAGES and len(name) <= MAX_NAME_CHARS]
    likely = []
    for name in unknown[:MAX_LOOKED_UP]:
        near = [SHORT_NAMES[name.lower()]] if name.lower() in SHORT_NAMES else []
        if near := near or get_close_matches(name.lower(), KNOWN_LANGUAGES, 1, MIN_LIKENESS):
            likely.append(f"{shown(name)} ({near[0]}?)")
    return ", ".join(likely)
