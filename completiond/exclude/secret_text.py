"""Passwords, tokens and keys in a text: by the shapes that services give theirs, and by the names they are assigned to.

A miss leaks a secret, a false alarm costs a completion; so a value counts when it looks random or mixes kinds of
characters, and not when it looks like words, a placeholder, a name or a call. Not found: a password that is one plain
word, one with blanks, and one without quotes that could be a variable (``password = hunter2``).

Time is linear in the text: patterns start at a literal or a keyword, and what they repeat is bounded, possessive, or
cannot be entered twice. Most texts have none of the hints and cost a substring search for each.
"""

from __future__ import annotations

import math
import re
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

MAX_VALUE_CHARS = 512
"""How much of an assigned value is looked at; the span goes on to the value's end."""


@dataclass(frozen=True, slots=True, order=True)
class SecretSpan:
    """Where a secret stands, without the quotes or the name; the secret itself is not kept."""

    start_chars: int
    end_chars: int
    kind: SecretKind


_SHAPES: tuple[tuple[SecretKind, str, re.Pattern[str]], ...] = tuple(
    (kind, hint, re.compile(pattern))
    for kind, hint, pattern in (
        *(("aws_access_key_id", p, p + r"[A-Z0-9]{16}(?![A-Za-z0-9])") for p in ("AKIA", "ASIA", "ABIA", "ACCA")),
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
)

_URL = re.compile(r"://[^\s/:@?#\"'`<>\\]{0,128}:([^\s/@\"'`<>\\]{3,256})@[\w.\[{$%-]")
_AUTHORIZATION = re.compile(r"(?i:bearer|basic|token)[ \t]+([\w.~+/-]{8,}=*)(?![\w.(\[])")
_AUTHORIZED = re.compile(r"(?i:authorization)['\"\])]*\s*(?:=>|[:=,(])\s*[\w.]{0,20}[('\"`]*$|[\"'`]$")
"""What stands before ``Basic`` or ``Token``, which are words too, when a value follows."""

_KEYWORDS = ("pass", "pwd", "secret", "token", "key", "credential", "auth", "connection")
_NAME = re.compile(
    r"(?i:passw(?:or)?d|passphrase|passwort|passcode|pwd|secret|token|credentials?"
    r"|(?:api|access|account|auth|encryption|private|secret|shared|signing|storage|master)[_-]?key)"
    r"|(?<![A-Za-z])pass(?![A-Za-z])|(?<![A-Z])PASS(?![A-Za-z])|(?<=[a-z0-9_])Pass(?![a-z])"
)
_REST = re.compile(r"[\w-]{0,40}+")
_ABOUT = re.compile(
    r"(?i:.*(?:age|algorithm|arn|class|column|count|created|endpoint|env|expir\w*|field|file|filename|format|header|hint"
    r"|ids?|[iy]z\w+|kind|label|len|length|limit|message|name|names|param|path|pattern|placeholder|policy|prefix|ref"
    r"|regex|rules|schema|size|suffix|timeout|title|ttl|types?|uri|url|version)|ed|ary|ariat)"
)
"""Ends of names that are about a secret and do not hold one: ``token_type``, ``secretName``, ``tokenizer``."""
_ASSIGN = re.compile(
    r"(?:\\?[\"'`])?+[\])]?+(?P<type>\??+[ \t]{0,4}+:[ \t]{0,4}+[&\w.<>\[\]| ?]{1,40}?(?=[ \t]{0,4}=)|[ \t]{1,4}+string(?=[ \t]=))?"
    r"(?P<sep>\s{0,8}+(?:=>|:?=|[!=]==?|:|\|\||\?\?|->)\s{0,8}+|\\?[\"'`]\s{0,8},\s{0,8}+|,\s{0,8}+|\(|[ \t]{1,8}+"
    r"|>|[\"'`]?,?\s{0,40}[\"'`]?(?:[vV]alue|content)[\"'`]?\s{0,4}[:=]\s{0,4})"
    r"(?P<call>(?:new[ ])?[\w.:]{0,40}[(\[]\s{0,8}+)?(?:[A-Za-z@$]{0,2}(?=[\"'`\\]))?"
    r"(?:\\?\"(?P<double>[^\s\"\\]{8,512}+)(?P<end>.?)|'(?P<single>[^\s'\\]{8,512}+)|`(?P<back>[^\s`\\]{8,512}+)"
    r"|(?P<bare>[\w+/=.~!@#%^*:?-]{8,512}+))"
)
