"""Tokens and keys that are known by the shapes that services give theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from completiond.exclude.secret_span import SecretKind, SecretSpan
from completiond.exclude.secret_value import is_template

__all__ = ["with_shape"]

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


def with_shape(text: str) -> Iterator[SecretSpan]:
    """Those in ``text``, shape by shape."""
    for kind, hint, pattern in _SHAPES:
        if hint not in text:
            continue
        for found in pattern.finditer(text):
            start, value = found.start(), found[0]
            if (start and text[start - 1].isalnum()) or (is_template(value) and len(value) < 40) or len(set(value)) < 8:
                continue
            # ``sk-`` also begins CSS classes.
            if sum(map(str.isdigit, value)) >= (4 if kind == "openai_key" else 1) or kind == "jwt":
                yield SecretSpan(start, found.end(), kind)
