"""Values that are assigned to names which say that they are secret, in code, settings, shells and markup."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from completiond.exclude.secret_span import SecretKind, SecretSpan
from completiond.exclude.secret_value import is_placeholder, is_scrambled, looks_random
from completiond.exclude.secret_words import HINTS, NAME

__all__ = ["assigned"]

MAX_VALUE_CHARS = 256
"""How much of an assigned value is looked at; the span goes on to the value's end."""

_HINT = re.compile(
    "|".join(HINTS)
    + r"|secret|token|credential|api[_-]?key|access[_-]?key|account[_-]?key|auth[_-]?key|encryption[_-]?key"
    r"|private[_-]?key|shared[_-]?key|signing[_-]?key|storage[_-]?key|master[_-]?key"
)
"""Where names begin in a text in small letters: without the flag for them it is found in a fraction of the time."""
_NAME = re.compile(
    rf"(?P<password>{NAME})|(?i:secret|token|credentials?"
    r"|(?:api|access|account|auth|encryption|private|shared|signing|storage|master)[_-]?key)"
)
_REST = re.compile(r"[\w-]{0,40}+")
_ABOUT = re.compile(
    r"(?i:.*(?:age|algorithm|arn|class|column|count|created|endpoint|env|expir\w*|field|file|filename|format|header|hint"
    r"|ids?|kind|label|len|length|limit|message|names?|param|path|pattern|placeholder|policy|prefix|ref|regex|rules"
    r"|schema|size|suffix|timeout|title|ttl|types?|uri|url|version)|i[sz]\w+|ary|ariat)"
)
"""Ends of names that are about a secret and do not hold one: ``token_type``, ``secretName``, ``tokenizer``."""
_ASSIGN = re.compile(
    r"""
    (?:\\?["'`])?+ [\])]?+
    (?: \??[ \t]*+:[ \t]*+[&\w.<>\[\]|? ]{1,40}?(?=[ \t]?=) | [ \t]++string(?=[ \t]=) )?         # a type
    (?P<sep> ,?\s{0,40}["'`]?(?:[vV]alue|content)["'`]?\s{0,4}[:=]\s{0,4}  # name: API_KEY, value: ...
      | \s{0,8}(?:=>|:=|[!=]==?|[=:]|\|\||\?\?|,|\(|>)\s{0,8} | [ \t]{1,8} )
    (?P<call>(?:new[ ])?[\w.:]{0,40}[(\[]\s{0,8})? [A-Za-z@$]{0,2}?
    (?: \\?"(?P<double>[^\s"\\]{8,256}+) | \\?'(?P<single>[^\s'\\]{8,256}+) | `(?P<back>[^\s`\\]{8,256}+)
      | (?P<bare>(?<![\w$@])[\w+/.~!@#%^*?-]{8,256}+={0,2}+) )
    """,
    re.VERBOSE,
)

_OPERATORS = frozenset("!@#^~")
_NAME_CHARS = string.ascii_letters + string.digits + "_.-"
_AWS_SECRET = re.compile(r"[A-Za-z0-9/+]{40}")
_VALUE_END = re.compile(r"[\s\"'`\\;]")


def _names(text: str, lowered: str) -> Iterator[re.Match[str]]:
    """What ``_NAME.finditer`` gives."""
    if len(lowered) != len(text):  # a letter whose small form is two
        yield from _NAME.finditer(text)
        return
    done_chars = 0
    for hint in _HINT.finditer(lowered):
        name = _NAME.match(text, hint.start()) if hint.start() >= done_chars else None
        if name is not None:
            done_chars = name.end()
            yield name


def assigned(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Those in ``text``, in order; ``lowered`` is the text in small letters."""
    done_chars = 0
    for name in _names(text, lowered):
        rest = _REST.match(text, name.end())
        found = _ASSIGN.match(text, rest.end()) if rest and name.start() >= done_chars else None
        if rest is None or found is None or found.lastgroup is None or _ABOUT.fullmatch(rest[0]):
            continue
        value, (start, end) = found[found.lastgroup], found.span(found.lastgroup)
        is_password = name["password"] is not None
        if found.lastgroup == "bare":
            accepted = _is_bare_secret(text, name.start(), found, is_password)
        else:
            quote = text[start - 1]
            closed = end - start >= MAX_VALUE_CHARS or text[end : end + 1] in (quote, "\\")
            accepted = closed and looks_random(value, is_password)
        if accepted:
            kind = _kind(text, name.start(), value)
            if end - start >= MAX_VALUE_CHARS or kind == "connection_string":
                longer = _VALUE_END.search(text, end)
                end = longer.start() if longer else len(text)
            done_chars = end
            yield SecretSpan(start, end, kind)


def _kind(text: str, name_start: int, value: str) -> SecretKind:
    if text[name_start - 1 : name_start] == ";":
        return "connection_string"
    return "aws_secret_key" if _AWS_SECRET.fullmatch(value) else "assignment"


def _is_bare_secret(text: str, name_start: int, found: re.Match[str], is_password: bool) -> bool:
    """A value without quotes: in a shell, an ini file, YAML, XML or a URL it is text; in code it is an expression."""
    sep, value, after = found["sep"], found["bare"], text[found.end() : found.end() + 1]
    if found["call"] or (after and after in "([{$"):
        return False
    before = text[max(0, name_start - 60) : name_start].rstrip(_NAME_CHARS)
    line = before.rpartition("\n")[2].strip()
    if ">" in sep or "alue" in sep or "content" in sep:
        is_text = ("=" in sep or ":" in sep or after == "<") and "=>" not in sep
    elif "\n" in sep:
        return False
    elif sep == "=":
        is_text = (not before or before[-1] in " \t\n;?&\"'`|") and (not after or after in " \t\r\n;&\"'`\\#")
    elif sep.strip() == ":":
        is_text = line in ("", "-", '"', "'") and sep != ":" and (not after or after in " \t\r\n")
    elif not sep.strip():
        name = text[max(0, name_start - 60) : name_start][len(before) :]
        return (name.startswith("--") or line in ("ENV", "ARG")) and looks_random(value, is_password)
    else:
        is_text = False
    if is_text:
        return looks_random(value, is_password)
    if sep.strip() not in ("=", ":", ":=", "=>"):
        return False
    if not _OPERATORS.isdisjoint(value[1:]) and is_password:
        return looks_random(value, is_password)
    return is_scrambled(value) and not is_placeholder(value)
