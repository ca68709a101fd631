"""Whether a value looks like a secret: random, or of mixed characters; not words, a placeholder, a name or a path."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

__all__ = ["is_placeholder", "is_scrambled", "is_template", "looks_random"]

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
_HEX = re.compile(r"[0-9a-fA-F]+")


def is_template(value: str) -> bool:
    """Whether part of it says that a value is to be put there."""
    return _PLACEHOLDER.search(value) is not None


def looks_random(value: str, is_password: bool) -> bool:
    """Whether a literal looks like a secret, not like words, a name, a path or a placeholder."""
    if is_placeholder(value) or _is_name(value, is_password) or (_PLACE.match(value) and not is_scrambled(value)):
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


def is_placeholder(value: str) -> bool:
    """Whether it stands for a value, or is one that nobody would guess secret: test data, a label, ``aaaa``."""
    if is_template(value) or max(value) > "\u024f" or _entropy_bits(value) < 1.7:
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


def is_scrambled(value: str) -> bool:
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
