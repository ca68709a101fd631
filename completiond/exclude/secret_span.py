"""A place in a text that holds a secret, and what kind of secret it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SecretKind", "SecretSpan"]

SecretKind = Literal[
    "private_key", "aws_access_key_id", "aws_secret_key", "github_token", "gitlab_token", "slack_token", "stripe_key",
    "google_key", "anthropic_key", "openai_key", "huggingface_token", "npm_token", "pypi_token", "twilio_key",
    "sendgrid_key", "other_token", "jwt", "url_password", "authorization", "connection_string", "assignment", "login",
]  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class SecretSpan:
    """Where a secret stands, without the quotes or the name; the secret itself is not kept."""

    start_chars: int
    end_chars: int
    kind: SecretKind
