"""A client with documents open in a completer that has a scripted model."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence

from completiond.complete.completer import Completer
from completiond.complete.context.other_files import Choice
from completiond.complete.request import CompletionRequest, LineEdit
from completiond.config import CompletionConfig, Config, ModelConfig, PromptConfig
from tests.fake_model import FIM_QWEN, PADDED_VOCAB_SIZE, babble, bytes_of, fake_model

__all__ = ["FILLER", "REPOSITORY", "WORK", "Desk", "config", "desk_with"]

REPOSITORY = ("<|repo_name|>", "<|file_sep|>")
FILLER = [f"line_{n} = {n}" for n in range(200)]
WORK = "def process(item, count):\n    return item * count\n"


def config(context_tokens: int = 1200, max_read_ms: int = 0, prefix_tokens: int = 160) -> Config:
    return Config(
        model=ModelConfig(name="fake", context_tokens=4000),
        prompt=PromptConfig(
            prefix_tokens=prefix_tokens, suffix_tokens=60, context_tokens=context_tokens, max_read_ms=max_read_ms
        ),
        completion=CompletionConfig(max_tokens=20),
    )


class Desk:
    """A client's documents in a completer; a request is for the document's text, with the cursor at some place."""

    def __init__(self, config: Config, markers: Sequence[str] = (*FIM_QWEN, *REPOSITORY)) -> None:
        model, self.target = fake_model(babble(PADDED_VOCAB_SIZE, 7, favoured=bytes_of("abcxyz")), markers)
        self.completer = Completer(model, config)
        self.completer.documents.set_folders("me", ["/repo"])
        self.texts: dict[str, list[str]] = {}

    def open(self, name: str, text: str, client_id: str = "me") -> None:
        if client_id == "me":
            self.texts[name] = text.split("\n")
        self.completer.documents.open((client_id, name), text.split("\n"), f"/repo/{name}")

    def edit(self, name: str, first: int, num_old: int, *new: str) -> None:
        self.texts[name][first : first + num_old] = new
        self.completer.documents.edit(("me", name), [LineEdit(first, num_old, new)])

    def request(self, name: str, line: int = -1) -> CompletionRequest:
        """At the end of a line."""
        lines = self.texts[name]
        line = line % len(lines)
        prefix, suffix = "\n".join(lines[: line + 1]), "".join(f"\n{one}" for one in lines[line + 1 :])
        return CompletionRequest(prefix, suffix, f"/repo/{name}", "me", name, drafter="none")

    def ids(self, name: str, line: int = -1) -> tuple[int, ...]:
        return self.completer.prompt(self.request(name, line), 20).token_ids

    def said(self, name: str, line: int = -1) -> str:
        return self.completer.tokenizer.decode(self.ids(name, line))

    def choice(self, name: str, line: int = -1) -> Choice:
        self.ids(name, line)
        choice = self.completer.others.kept(("me", name))
        assert choice is not None
        return choice

    def read(self, name: str, num_pieces: int | None = None) -> None:
        """In a quiet moment; or only some of it."""
        pieces = self.completer.read(self.request(name))
        assert isinstance(pieces, Generator)
        for _ in itertools.islice(pieces, num_pieces):
            pass
        pieces.close()


def desk_with(current: str, other: str = WORK, **settings: int) -> Desk:
    desk = Desk(config(**settings))
    desk.open("work.py", other)
    desk.open("main.py", current)
    return desk
