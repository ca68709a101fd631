"""Names that hold secrets, and names that only sound like it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from completiond.exclude.secret_names import is_secret_name


def _names(text: str) -> list[str]:
    return text.split()


SECRET = _names("""
.env .env.local .env.production app/.env prod.env docker/db.env .envrc .ENV .Env.Local .env.bak .env~ ..env.swp
server.pem public.pem certs/CA.PEM tls.key config/master.key store.p12 store.pfx release.jks debug.keystore vault.kdbx
login.ppk key.asc passwords.gpg AuthKey_1.p8 office.ovpn krb5.keytab
id_rsa id_dsa id_ecdsa id_ed25519 deploy/id_rsa id_rsa.bak .id_rsa.swp id_ed25519_work id_ed25519_sk
.netrc _netrc .pgpass .npmrc .pypirc .git-credentials .htpasswd .dockercfg .docker/config.json u/.docker/config.json
.aws/credentials .aws/config credentials credentials.json .config/gcloud/credentials.db .config/gcloud/x/adc.json
credentials.ini client_secret_123.apps.json aws.credentials.csv kubeconfig .kube/config
terraform.tfstate terraform.tfstate.backup env/prod.tfstate.1 prod.tfvars prod.auto.tfvars prod.tfvars.json
service-account.json service-account-prod.json service_account.json gcp-service-account.json serviceAccountKey.json
shop-firebase-adminsdk-ab1cd.json
secrets.yml secrets.yaml secrets.json secrets.toml secrets.ini secrets.env secret.yaml app-secrets.prod.yml Secrets.YML
.ssh/config .ssh/known_hosts .ssh/id_rsa.pub .gnupg/pubring.kbx .git/config repo/.git/hooks/pre-commit
.bash_history .zsh_history .python_history .psql_history fish_history wp-config.php blog/WP-Config.php wp-config.php.bak
""")

ORDINARY = _names("""
.env.example .env.sample .env.template .env.dist .env.local.example example.env .env-example env.py environment.yml env
key.py keys.py secrets.py secret.rs tokens.py token.json tokens.json tokenizer.json test_env.py credentials.ts
credentials.py credentials_test.go id_rsa.pub id_ed25519.pub id_rsa_parser.py id.py
config.json docker/config.json kube/config config terraform.tf variables.tf prod.tfvars.example example.tfvars
secrets.example.yml secrets.yaml.sample credentials.json.dist service_account.py service-account.example.json
secretary.json monkey.json keyboard.js key hotkeys.md .gitignore .gitattributes .github/workflows/ci.yml
history.py command_history.md wp-config-sample.php password.go passwords.html README.md main.rs Makefile aws/lambda.py
ssh/client.py git/config package.json .vscode/settings.json pem.py ascii.txt
""")


@pytest.mark.parametrize("name", SECRET)
def test_a_name_that_holds_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name(Path("/home/user/project") / name)


@pytest.mark.parametrize("name", ORDINARY)
def test_a_name_that_does_not(name: str) -> None:
    assert not is_secret_name(name)
    assert not is_secret_name(Path("/home/user/project") / name)


def test_windows_paths_and_upper_case() -> None:
    assert is_secret_name(PureWindowsPath(r"C:\Users\U\.AWS\Credentials"))
    assert is_secret_name(r"C:\Users\U\.ssh\config")
    assert not is_secret_name(PureWindowsPath(r"C:\Users\U\ssh\config"))


def test_odd_paths() -> None:
    assert not is_secret_name("")
    assert not is_secret_name("/")
    assert not is_secret_name(PurePosixPath("."))
    assert is_secret_name("a//b/.env")
    assert not is_secret_name("x" * 100_000)
