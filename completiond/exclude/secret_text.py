"""Passwords, tokens and keys in a text: by the shapes that services give theirs, and by the names they are assigned to.

A miss leaks a secret, a false alarm costs a completion; so a value counts when it looks random or mixes kinds of
characters, and not when it looks like words, a placeholder, a name or a call. Not found: a password that is one plain
word, one with blanks, and one without quotes that could be a variable (``password = hunter2``).

Time is linear in the text: patterns start at a literal or a keyword, and what they repeat is bounded, possessive, or
cannot be entered twice. Most texts have none of the hints and cost a substring search for each.
"""

from __future__ import annotations

import binascii
import math
import re
import string
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

__all__ = ["SecretKind", "SecretSpan", "find_secrets", "secret_lines"]

SecretKind = Literal[
    "private_key", "aws_access_key_id", "aws_secret_key", "github_token", "gitlab_token", "slack_token", "stripe_key",
    "google_key", "anthropic_key", "openai_key", "huggingface_token", "npm_token", "pypi_token", "twilio_key",
    "sendgrid_key", "other_token", "jwt", "url_password", "authorization", "connection_string", "assignment",
]  # fmt: skip

MAX_VALUE_CHARS = 256
"""How much of an assigned value is looked at; the span goes on to the value's end."""


@dataclass(frozen=True, slots=True, order=True)
class SecretSpan:
    """Where a secret stands, without the quotes or the name; the secret itself is not kept."""

    start_chars: int
    end_chars: int
    kind: SecretKind


_AWS_ID = r"[A-Z0-9]{16}(?![A-Za-z0-9])"
_PATTERNS: tuple[tuple[SecretKind, str, str], ...] = (
    ("aws_access_key_id", "AKIA", "AKIA" + _AWS_ID),
    ("aws_access_key_id", "ASIA", "ASIA" + _AWS_ID),
    ("aws_access_key_id", "ABIA", "ABIA" + _AWS_ID),
    ("aws_access_key_id", "ACCA", "ACCA" + _AWS_ID),
    ("github_token", "gh", r"gh[oprsu]_[A-Za-z0-9]{30,}"),
    ("github_token", "github_pat_", r"github_pat_\w{22,}"),
    ("gitlab_token", "gl", r"gl(?:agent|cbt|dt|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{20,}"),
    ("slack_token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("slack_token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    ("slack_token", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}"),
    ("stripe_key", "k_", r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,}"),
    ("stripe_key", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}"),
    ("google_key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    ("google_key", "ya29.", r"ya29\.[\w-]{20,}"),
    ("google_key", "GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    ("anthropic_key", "sk-ant-", r"sk-ant-[\w-]{20,}"),
    ("openai_key", "sk-", r"sk-(?!ant-)[\w-]{20,}"),
    ("huggingface_token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("npm_token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi_token", "pypi-", r"pypi-[\w-]{50,}"),
    ("twilio_key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("sendgrid_key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{32,}"),
    # The look-behind lets each run of these characters be entered once.
    ("jwt", "eyJ", r"eyJ(?<![\w-]eyJ)[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    ("other_token", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("other_token", "dapi", r"dapi[0-9a-f]{32}"),
    ("other_token", "dckr_pat_", r"dckr_pat_[\w-]{20,}"),
    ("other_token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("other_token", "glsa_", r"glsa_\w{32,}"),
    ("other_token", "hvs.", r"hvs\.[\w-]{20,}"),
    ("other_token", "key-", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("other_token", "lin_api_", r"lin_api_[A-Za-z0-9]{30,}"),
    ("other_token", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("other_token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("other_token", "xkeysib-", r"xkeysib-[\w-]{40,}"),
    ("other_token", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{33}(?![\w-])"),
    ("other_token", "/api/webhooks/", r"/api/webhooks/\d{16,20}/[\w-]{50,}"),
)
_SHAPES = tuple((kind, hint, re.compile(pattern)) for kind, hint, pattern in _PATTERNS)
"""Kind, a substring without which the pattern cannot match, and the pattern."""


_URL = re.compile(r"://[^\s/:@?#\"'`<>\\]{0,128}:([^\s/@\"'`<>\\]{3,256})@[\w.\[{$%-]")
_AUTHORIZATION = re.compile(r"(?i:(bearer)|basic|token)[ \t]+([\w.~+/-]{8,}+=*)(?![.(\[])")
_BEFORE_SCHEME = re.compile(
    r"(?i:authorization)['\"\])]{0,2}\s{0,4}(?:=>|[:=,(])\s{0,4}[\w.]{0,20}[('\"`]{0,2}$|[\"'`]$"
)
"""``basic`` and ``token`` are words too: here they stand where a header's value begins."""

_KEYWORDS = ("pass", "pwd", "secret", "token", "key", "credential")
_NAME = re.compile(
    r"(?i:passw(?:or)?d|passphrase|passwort|passcode|pwd|secret|token|credentials?"
    r"|(?:api|access|account|auth|encryption|private|shared|signing|storage|master)[_-]?key)"
    r"|(?<![A-Za-z])pass(?![A-Za-z])|(?<![A-Z])PASS(?![A-Za-z])|(?<=[a-z0-9_])Pass(?![a-z])"
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
_PLACEHOLDER = re.compile(
    r"(?i:change.?me|replace|your|example|sample|dummy|placeholder|fake|xxxx|\*\*\*|\.\.\.|\u2026|todo|fixme|redacted"
    r"|masked|lorem|hidden|insert|foobar|deadbeef|not[-_]?real|123456|abcdef|qwerty|undefined|\$\{|\$\(|\$[a-z_]|#\{|%[sd(]"
    r"|\{[\w.]*\}|\{\{|<[\w -]*>|\|)"
)
_WORDS = re.compile(
    r"(?i:passw(?:or)?d|pass|pwd|secret|token|key|api|access|auth|client|private|public|bearer|basic|jwt|session|refresh"
    r"|credentials?|value|string|login|user(?:name)?|admin|root|test(?:ing)?|mock|default|some|super|my|the|new|old|wrong"
    r"|bad|good|invalid|valid|correct|confirm|current|foo|bar|baz|abc|xyz|123|local|demo|hello|world|field|form|input"
    r"|postgres|mysql|mongo|redis|rabbit|guest|minio|service|server|reset|forgot|update|error|required)"
)
"""What test data and labels are made of; a value with fewer than four other letters and digits is one of them."""
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PLACE = re.compile(
    r"[a-z][a-z0-9+.-]{1,12}://|\.{0,2}/|~/"
    r"|.{1,200}\.(?:json|ya?ml|toml|py|[jt]sx?|pem|key|crt|txt|env|html?)$"
)
_SPECIAL = frozenset("!@#$%^&*+=~?")

_OPERATORS = frozenset("!@#^~")
_NAME_CHARS = string.ascii_letters + string.digits + "_.-"
_AWS_SECRET = re.compile(r"[A-Za-z0-9/+]{40}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_VALUE_END = re.compile(r"[\s\"'`\\;]")

_MARKER = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_DATA = re.compile(r"[A-Za-z0-9+/=]{40}")
_KEY_LINE = re.compile(
    r"(?:\\n|[\s\"'`+,;#*|>])*(?:[A-Za-z0-9+/=]{4,}+|(?:Proc-Type|DEK-Info|Version|Comment):.*)?(?:\\n|[\s\"'`+,;|])*"
)


def find_secrets(text: str) -> list[SecretSpan]:
    """The secrets in ``text``, in order; spans do not overlap. Takes time linear in the text, and never raises."""
    spans = list(_with_shape(text))
    lowered = text.lower()
    if "-----" in text:
        spans += _private_keys(text)
    if "://" in text:
        spans += _in_urls(text)
    if "bearer" in lowered or "authorization" in lowered or "basic " in lowered:
        spans += _in_headers(text)
    for keyword in _KEYWORDS:
        if keyword in lowered:
            spans += _assigned(text)
            break
    return _merged(spans) if spans else []


def secret_lines(lines: Sequence[str]) -> frozenset[int]:
    """The lines, counted from 0, that a secret touches; all lines of a private key."""
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    touched: set[int] = set()
    for span in find_secrets("\n".join(lines)):
        touched.update(range(bisect_right(starts, span.start_chars) - 1, bisect_right(starts, span.end_chars - 1)))
    return frozenset(touched)


def _merged(spans: list[SecretSpan]) -> list[SecretSpan]:
    """Where spans overlap, one over all of them, of the first one's kind."""
    merged: list[SecretSpan] = []
    for span in sorted(spans, key=lambda span: span.start_chars):  # stable: a known shape comes before a name
        last = merged[-1] if merged else None
        if last is None or span.start_chars >= last.end_chars:
            merged.append(span)
        elif span.end_chars > last.end_chars:
            merged[-1] = SecretSpan(last.start_chars, span.end_chars, last.kind)
    return merged


def _with_shape(text: str) -> Iterator[SecretSpan]:
    for kind, hint, pattern in _SHAPES:
        if hint not in text:
            continue
        for found in pattern.finditer(text):
            start, value = found.start(), found[0]
            if (start and text[start - 1].isalnum()) or _PLACEHOLDER.search(value) or len(set(value)) < 8:
                continue
            # ``sk-`` also begins CSS classes.
            if sum(map(str.isdigit, value)) >= (4 if kind == "openai_key" else 1) or kind == "jwt":
                yield SecretSpan(start, found.end(), kind)


def _private_keys(text: str) -> Iterator[SecretSpan]:
    """Blocks from BEGIN to END; where the text begins or ends inside one, the lines that can belong to it."""
    markers = list(_MARKER.finditer(text))
    for i, marker in enumerate(markers):
        before = markers[i - 1] if i else None
        after = markers[i + 1] if i + 1 < len(markers) else None
        if marker[1] == "BEGIN":
            end = after.end() if after and after[1] == "END" else after.start() if after else len(text)
            if not (after and after[1] == "END"):
                end = _data_end(text, marker.end(), end)
            start = marker.start()
        elif before is None or before[1] == "END":
            start, end = _data_start(text, before.end() if before else 0, marker.start()), marker.end()
        else:
            continue
        if _KEY_DATA.search(text, start, end):
            yield SecretSpan(start, end, "private_key")


def _data_end(text: str, start: int, limit: int) -> int:
    while start < limit:
        line_end = text.find("\n", start, limit)
        line_end = limit if line_end < 0 else line_end
        if not _KEY_LINE.fullmatch(text, start, line_end):
            # Key and code in one line: a string with escaped line ends.
            data = _KEY_DATA.search(text, start, line_end)
            return line_end if data else start
        start = line_end + 1
    return limit


def _data_start(text: str, limit: int, end: int) -> int:
    start = end
    while start > limit:
        line_start = text.rfind("\n", limit, start - 1) + 1 or limit
        line_start = max(line_start, limit)
        if not _KEY_LINE.fullmatch(text, line_start, start):
            return line_start if _KEY_DATA.search(text, line_start, start) else start
        start = line_start
    return start


def _in_urls(text: str) -> Iterator[SecretSpan]:
    for found in _URL.finditer(text):
        if not _is_placeholder(found[1]):
            yield SecretSpan(found.start(1), found.end(1), "url_password")


def _in_headers(text: str) -> Iterator[SecretSpan]:
    for found in _AUTHORIZATION.finditer(text):
        value = found[2]
        is_header = _BEFORE_SCHEME.search(text[max(0, found.start() - 48) : found.start()]) is not None
        if not is_header and not (found[1] and len(value) >= 16):
            continue
        if _looks_random(value, False) or (not found[1] and _holds_user(value)):
            yield SecretSpan(found.start(2), found.end(2), "authorization")


def _holds_user(value: str) -> bool:
    """Whether this is ``user:password`` in Base64."""
    try:
        return b":" in binascii.a2b_base64(value[:256] + "==")
    except ValueError:
        return False


def _assigned(text: str) -> Iterator[SecretSpan]:
    done_chars = 0
    for name in _NAME.finditer(text):
        rest = _REST.match(text, name.end())
        found = _ASSIGN.match(text, rest.end()) if rest and name.start() >= done_chars else None
        if rest is None or found is None or found.lastgroup is None or _ABOUT.fullmatch(rest[0]):
            continue
        value, (start, end) = found[found.lastgroup], found.span(found.lastgroup)
        is_password = name[0][:1] in "pP" and not name[0].endswith(("y", "Y"))
        if found.lastgroup == "bare":
            accepted = _is_bare_secret(text, name.start(), found, is_password)
        else:
            quote = text[start - 1]
            closed = end - start >= MAX_VALUE_CHARS or text[end : end + 1] in (quote, "\\")
            accepted = closed and _looks_random(value, is_password)
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
        return (name.startswith("--") or line in ("ENV", "ARG")) and _looks_random(value, is_password)
    else:
        is_text = False
    if is_text:
        return _looks_random(value, is_password)
    if sep.strip() not in ("=", ":", ":=", "=>"):
        return False
    if not _OPERATORS.isdisjoint(value[1:]) and is_password:
        return _looks_random(value, is_password)
    return _is_scrambled(value) and not _is_placeholder(value)


def _looks_random(value: str, is_password: bool) -> bool:
    """Whether a literal looks like a secret, not like words, a name, a path or a placeholder."""
    if _is_placeholder(value) or _is_name(value, is_password) or (_PLACE.match(value) and not _is_scrambled(value)):
        return False
    has_digit, num_special = any(map(str.isdigit, value)), sum(map(_SPECIAL.__contains__, value))
    if not any(map(str.isalpha, value)):
        return len(value) >= 16
    if has_digit:
        return True
    if is_password and num_special >= (1 if value.lower() != value != value.upper() else 2):
        return True
    parts = _PART.findall(value)
    if len(parts) > 1:
        return len(value) >= 12 and sum(map(len, parts)) < 2.5 * len(parts)
    return len(value) >= 20 and value.isalpha() and _entropy_bits(value) >= 3.5


def _is_placeholder(value: str) -> bool:
    if _PLACEHOLDER.search(value) or max(value) > "\u024f" or _entropy_bits(value) < 1.7:
        return True
    if sum(map(str.isalnum, _WORDS.sub("", value))) < 4:
        return True
    return 2 * sum(ord(two) - ord(one) == 1 for one, two in pairwise(value)) >= len(value)


def _is_name(value: str, is_password: bool) -> bool:
    """``access_token_v2``, ``OAuth2Token``, ``auth/token-1``: words with few digits, joined as names are."""
    parts = _PART.findall(value)
    num_digits = sum(map(str.isdigit, value))
    num_letters = sum(map(len, parts))
    is_joined = any(char in "_-./:" for char in value)
    if len(parts) < 2 or num_digits > 2 or num_letters < 3.5 * len(parts) or not _SPECIAL.isdisjoint(value):
        return False
    return is_joined or (value.lower() != value != value.upper() and not (is_password and num_digits == 2))


def _is_scrambled(value: str) -> bool:
    """Whether letters' cases and digits change as often as in random text. A name's do not."""
    if len(value) < 16 or not any(map(str.isdigit, value)):
        return False
    kinds = [0 if char.isdigit() else 1 if char.islower() else 2 if char.isupper() else 3 for char in value]
    if _HEX.fullmatch(value):
        return sum(kind == 0 for kind in kinds) >= 4
    return sum(one != two for one, two in pairwise(kinds)) >= 0.42 * (len(value) - 1)


def _entropy_bits(value: str) -> float:
    """Shannon's, per character."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
