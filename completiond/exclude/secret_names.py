"""Files and folders that hold secrets, told by their names alone.

Where a name is unclear, the question is what a mistake costs. Nobody asks for completions in a ``.pem``, a ``.key`` or
a ``.asc``, so all of them count, certificates and public keys included. Source files count only where the very name
holds secrets (``wp-config.php``): ``key.py``, ``secrets.py``, ``tokens.py`` and ``credentials.ts`` are code about
secrets; what they hold is for ``secret_text`` to find. ``token.json`` and ``tokens.json`` do not count either: mostly
these are vocabularies or design tokens.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePath

__all__ = ["is_secret_name"]

_FOLDERS = frozenset({".aws", ".azure", ".git", ".gnupg", ".oci", ".password-store", ".ssh"})
"""All below them counts. ``.git`` is one of them: its ``config`` keeps URLs with passwords."""

_PLACES = frozenset(
    {
        (".cargo", "credentials.toml"),
        (".config", "gcloud"),
        (".config", "gh"),
        (".config", "rclone"),
        (".docker", "config.json"),
        (".kube", "config"),
        (".m2", "settings.xml"),
        (".m2", "settings-security.xml"),
    }
)
"""A folder's name and that of what counts in it, be it a file or a folder."""

_NAMES = frozenset(
    {
        ".boto", ".dockercfg", ".dockerconfigjson", ".env", ".envrc", ".git-credentials", ".htdigest", ".htpasswd",
        ".msmtprc", ".my.cnf", ".mylogin.cnf", ".netrc", ".npmrc", ".pgpass", ".pypirc", ".s3cfg", ".terraformrc",
        ".vault-token", ".vault_pass", ".yarnrc.local", "_netrc", "accesskeys.csv", "credentials",
        "consolehost_history.txt", "fish_history", "kubeconfig", ".kubeconfig", "localsettings.php", "pgpass.conf",
        "rootkey.csv", "wp-config.php", ".zhistory", ".histfile",
    }
)  # fmt: skip

_SUFFIXES = (
    ".asc", ".gpg", ".jceks", ".jks", ".kdb", ".kdbx", ".key", ".keystore", ".keytab", ".ovpn", ".p12", ".p8", ".pem",
    ".pfx", ".pgp", ".pkcs12", ".ppk", ".tfvars", ".tfvars.json", ".vault_pass",
)  # fmt: skip

_DATA = r"\.(?:cfg|conf|csv|env|ini|json|plist|properties|toml|txt|xml|ya?ml)"
_SHAPES = re.compile(
    r"\.env\..+|.+\.env"
    r"|.*\.tfstate(?:\..+)?"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:[._-].+)?"
    r"|\.[a-z]\w*_history"
    r"|(?:.+[._-])?(?:secrets?|credentials)(?:[._-][\w-]+)?" + _DATA + r"|client_secret.*\.json"
    r"|(?:.+[._-])?service[-_]?account.*\.json|.*-adminsdk-.*\.json"
)
_TEMPLATE = re.compile(r"(?:^|[._-])(?:dist|example|sample|schema|template|tmpl|tpl)(?:[._-]|$)")
"""A word by which a file says that it shows which values there are, not the values."""
_CODE = re.compile(
    r"\.(?:c|cc|cpp|cs|css|go|h|hpp|html|java|js|jsx|kt|lua|md|php|pub|py|pyi|rb|rs|rst|scala|sh|swift|tsx?)"
)
_BACKUP = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|sw[a-p]|tmp))$")
_SEPARATOR = re.compile(r"[/\\]+")


def is_secret_name(path: PurePath | str) -> bool:
    """Whether the file's name, or a folder it is in, says that it holds secrets; letter case does not matter.

    The file itself is not looked at, and symbolic links are not followed. Backups count as what they are backups of.
    """
    parts = [part for part in _SEPARATOR.split(str(path).lower()) if part]
    if not parts:
        return False
    if not _FOLDERS.isdisjoint(parts) or not _PLACES.isdisjoint(pairwise(parts)):
        return True
    name = parts[-1]
    if _is_secret(name):
        return True
    original = _BACKUP.sub("", name)
    # Vim's swap file of ``.env`` is ``..env.swp``, that of ``id_rsa`` is ``.id_rsa.swp``.
    return original != name and (_is_secret(original) or _is_secret(original[1:]))


def _is_secret(name: str) -> bool:
    if name in _NAMES:
        return True
    if name.endswith(_SUFFIXES):
        return not (".tfvars" in name and _TEMPLATE.search(name))
    if not _SHAPES.fullmatch(name) or _TEMPLATE.search(name):
        return False
    suffix = name[name.rindex(".") :] if "." in name[1:] else ""
    # ``.env.js`` and the like are read as code, but what they hold is the environment.
    return name.startswith(".env.") or not _CODE.fullmatch(suffix)
