"""Trust in a repository's file: what it opens, and when it ends."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from completiond.config.sections import Config
from completiond.config.settings import Settings
from completiond.config.trust import TrustStore
from completiond.errors import UsageError

TEXT = "[completion]\ndeadline_ms = 900\nmax_tokens = 10\n[spec]\nworkspace = ['src/*.py']\n"


class Checkout:
    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "repo"
        (self.root / ".git").mkdir(parents=True)
        self.file = self.root / ".completiond.toml"
        self.file.write_text(TEXT)
        self.store = TrustStore(tmp_path / "state" / "trust.json")
        self.now_s = 0.0
        self.settings = Settings(tmp_path / "config.toml", {}, trust_file=self.store.file, clock=lambda: self.now_s)

    def look(self) -> Config:
        self.now_s += 1.0
        return self.settings.of_file("", str(self.root / "a.py"))

    def trust(self) -> None:
        self.store.trust(str(self.root), self.file.read_bytes())


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def figures(config: Config) -> tuple[int, int, tuple[str, ...]]:
    return config.completion.max_tokens, config.completion.deadline_ms, config.spec.workspace


def test_a_file_that_is_not_trusted_narrows_only_and_says_what_it_lacks(checkout: Checkout) -> None:
    assert figures(checkout.look()) == (10, 0, ())
    said = [str(problem) for problem in checkout.settings.problems()]
    ending = "needs your trust in this file (`completiond trust`), and is ignored."
    assert said == [
        f"{checkout.file}:2: completion.deadline_ms {ending}",
        f"{checkout.file}:5: spec.workspace {ending}",
    ]


def test_trust_counts_at_once_and_ends_at_once(checkout: Checkout) -> None:
    checkout.look()
    checkout.trust()
    assert figures(checkout.look()) == (10, 900, ("src/*.py",))
    assert checkout.settings.problems() == []
    assert checkout.store.revoke(str(checkout.root))
    assert figures(checkout.look()) == (10, 0, ())
    assert not checkout.store.revoke(str(checkout.root))


@pytest.mark.parametrize("change", ["# a comment\n", "[model]\nname = 'x'\n", "[oops"])
def test_a_changed_file_is_another_one(checkout: Checkout, change: str) -> None:
    checkout.trust()
    assert figures(checkout.look()) == (10, 900, ("src/*.py",))
    checkout.file.write_text(TEXT + change)
    assert figures(checkout.look()) == (10, 0, ())
    checkout.file.write_text(TEXT)
    assert figures(checkout.look()) == (10, 900, ("src/*.py",)), "the very file that was trusted"


def test_trust_is_for_one_folder(checkout: Checkout, tmp_path: Path) -> None:
    checkout.trust()
    other = tmp_path / "other"
    (other / "sub").mkdir(parents=True)
    for folder in (other, checkout.root / "sub"):
        folder.mkdir(exist_ok=True)
        (folder / ".completiond.toml").write_text(TEXT.replace("900", "800"))
    assert checkout.settings.of_file("", str(other / "a.py")).completion.deadline_ms == 0
    assert checkout.settings.of_file("", str(checkout.root / "sub" / "a.py")).completion.deadline_ms == 900


def test_a_link_to_a_trusted_folder_is_that_folder(checkout: Checkout, tmp_path: Path) -> None:
    checkout.trust()
    (tmp_path / "link").symlink_to(checkout.root)
    assert figures(checkout.settings.of_file("", str(tmp_path / "link" / "a.py"))) == (10, 900, ("src/*.py",))


def test_the_store_is_private_and_whole(checkout: Checkout) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: TrustStore(checkout.store.file).trust(f"/folder/{i}", b""), range(40)))
    assert len(TrustStore(checkout.store.file).folders()) == 40
    assert stat.S_IMODE(checkout.store.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(checkout.store.file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"[", b"[1]", b"\xff", b'{"/repo": 3}', b"[" * 100_000])
def test_a_store_that_is_none_trusts_nothing_and_is_not_overwritten(checkout: Checkout, content: bytes) -> None:
    checkout.store.file.parent.mkdir()
    checkout.store.file.write_bytes(content)
    assert figures(checkout.look()) == (10, 0, ())
    with pytest.raises(UsageError, match="is not a list of trusted folders"):
        checkout.trust()
    assert checkout.store.file.read_bytes() == content
