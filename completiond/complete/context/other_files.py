"""What other documents of a client have to say about a place, kept from key to key. Used on the engine's thread.

A prompt whose beginning changes is read anew, which on a CPU takes longer than anything else at a key. So what is told
is chosen anew only when the cursor has moved far, when another document has changed, or this one somewhere else, and
in a quiet moment. In between a key costs a comparison of version numbers. Texts come from the dictionary only: it has
what a client has open and may be read, without the lines of secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from completiond.complete.context.choose import choose, files_of
from completiond.complete.context.definitions import definitions, names_near, qualifier_of
from completiond.complete.context.grammars import Grammars
from completiond.complete.context.lately import lately
from completiond.complete.context.piece import Piece
from completiond.complete.context.place import ContextPlace
from completiond.complete.context.recent import Recent
from completiond.complete.context.similar import similar
from completiond.complete.context.source import Source
from completiond.complete.dictionary import Dictionary, DocumentKey
from completiond.complete.encoder import Encoder
from completiond.complete.families import FimTokens
from completiond.complete.repo_context import NO_CONTEXT, RepoContext, build_context, shown_name
from completiond.complete.request import LineEdit
from completiond.exclude.guard import Guard, file_in

__all__ = ["Choice", "OtherFiles"]

MAX_DOCUMENTS: Final = 24
"""Of a client's documents those used last are looked at."""
MAX_MOVED_LINES: Final = 20
"""The cursor has moved far then; chosen, not measured."""
NEAR_LINES: Final = 3 * MAX_MOVED_LINES
"""Edits nearer than this to where a choice was made are what is being written there."""


@dataclass(frozen=True, slots=True)
class Choice:
    """``context`` is what is told of ``pieces``, of ``documents`` in this order, with the cursor in ``line``.

    It holds while ``versions``, of the client's other documents, and ``max_tokens`` are these. ``at`` counts changes.
    """

    context: RepoContext
    pieces: tuple[Piece, ...]
    documents: tuple[str, ...]
    line: int
    max_tokens: int
    versions: tuple[tuple[str, int], ...]
    at: int


@dataclass(slots=True)
class _Client:
    recent: Recent = field(default_factory=Recent)
    sources: dict[str, Source] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)


class OtherFiles:
    """For all clients; of each only what it has open itself."""

    def __init__(self, dictionary: Dictionary, guard: Guard, tokenizer: Encoder, fim: FimTokens | None) -> None:
        self._dictionary = dictionary
        self._guard = guard
        self._tokenizer = tokenizer
        self._fim = fim
        self._grammars = Grammars()
        self._clients: dict[str, _Client] = {}

    def open(self, key: DocumentKey, path: str) -> None:
        """A document that may be read was opened, or all of its text replaced."""
        client = self._clients.setdefault(key[0], _Client())
        client.recent.open(key[1], path)

    def edit(self, key: DocumentKey, edits: Sequence[LineEdit]) -> None:
        """A document was changed."""
        if (client := self._clients.get(key[0])) is not None:
            client.recent.edit(key[1], edits)

    def close(self, key: DocumentKey) -> None:
        """Forget a document, and all that was told of it."""
        if (client := self._clients.get(key[0])) is None:
            return
        client.recent.close(key[1])
        client.sources.pop(key[1], None)
        told = [document for document, choice in client.choices.items() if key[1] in (document, *choice.documents)]
        for document in told:
            del client.choices[document]
        if not client.recent.uses:
            del self._clients[key[0]]

    def forget_choices(self, client_id: str) -> None:
        """The client's folders are others: so are the names of its files."""
        if (client := self._clients.get(client_id)) is not None:
            client.sources.clear()
            client.choices.clear()

    def choice(self, place: ContextPlace, max_tokens: int) -> Choice | None:
        """What is told at a place in ``max_tokens``: the same as before, where that will do. None for a text that is
        no open document: it has no business with those that are.
        """
        if (client := self._client_of(place)) is None:
            return None
        client.recent.view(place.document, place.line)
        kept = client.choices.get(place.document)
        if kept is None or not self._holds(kept, client, place, max_tokens):
            kept = client.choices[place.document] = self._choose(client, place, max_tokens)
        return kept

    def propose(self, place: ContextPlace, max_tokens: int) -> Choice | None:
        """What would be told if it were chosen now. It counts when it is given to ``keep``."""
        client = self._client_of(place)
        return None if client is None else self._choose(client, place, max_tokens)

    def kept(self, key: DocumentKey) -> Choice | None:
        """What was told in a document last."""
        client = self._clients.get(key[0])
        return client.choices.get(key[1]) if client is not None else None

    def keep(self, key: DocumentKey, choice: Choice) -> None:
        """This is told in a document from now on, as long as it holds."""
        client_id, document = key
        if (client := self._clients.get(client_id)) is not None and document in client.recent.uses:
            client.choices[document] = choice

    def _client_of(self, place: ContextPlace) -> _Client | None:
        client = self._clients.get(place.client_id)
        if client is None or place.document not in client.recent.uses or place.key not in self._dictionary:
            return None
        return client

    def _holds(self, choice: Choice, client: _Client, place: ContextPlace, max_tokens: int) -> bool:
        if choice.max_tokens != max_tokens or abs(choice.line - place.line) > MAX_MOVED_LINES:
            return False
        first, end = choice.line - NEAR_LINES, choice.line + NEAR_LINES
        for one in client.recent.uses[place.document].edited:
            if one.at > choice.at and (one.end_line < first or one.first_line > end):
                return False
        return choice.versions == self._versions(client, place)

    def _versions(self, client: _Client, place: ContextPlace) -> tuple[tuple[str, int], ...]:
        """In the order of their names: which of them was used last changes nothing yet."""
        return tuple(sorted((it, version) for it, version in self._others(client, place)))

    def _others(self, client: _Client, place: ContextPlace) -> Iterator[tuple[str, int]]:
        num_left = MAX_DOCUMENTS
        for document in reversed(client.recent.uses):
            version = self._dictionary.version((place.client_id, document))
            if document == place.document or version is None:
                continue
            yield document, version
            num_left -= 1
            if not num_left:
                return

    def _choose(self, client: _Client, place: ContextPlace, max_tokens: int) -> Choice:
        versions = self._versions(client, place)
        uses = client.recent.uses
        others = [
            self._source(client, place, document, version)
            for document, version in versions
            if self._guard.why(place.client_id, uses[document].path) is None
        ]
        own_version = self._dictionary.version(place.key)
        current = self._source(client, place, place.document, own_version or 0)
        client.sources = {source.document: source for source in others}  # what is not looked at any more is let go
        paths = {source.document: source.path for source in (*others, current)}
        before, after = place.visible_before.split("\n"), place.visible_after.split("\n")
        candidates = [
            *definitions(names_near(before, after), qualifier_of(before[-1], current.path), current, others),
            *similar(before, after, others),
            *lately(uses, place, [*others, current], lambda it: self._dictionary.deleted((place.client_id, it))),
        ]
        head = self._tokenizer.encode_inside(f"{self._repository(place)}\n{current.path}\n")
        pieces = choose(
            candidates,
            place.visible_before + place.visible_after,
            lambda text: len(self._tokenizer.encode_inside(text)),
            paths.__getitem__,
            max_tokens - len(head) - 4,
        )
        last = client.choices.get(place.document)
        told = files_of(pieces, last.documents if last is not None else (), paths.__getitem__)
        context = NO_CONTEXT
        if told:
            files = [file for _, file in told]
            repository = self._repository(place)
            context = build_context(files, repository, current.path, self._tokenizer, self._fim, max_tokens)
        documents = tuple(document for document, _ in told)
        return Choice(context, tuple(pieces), documents, place.line, max_tokens, versions, client.recent.now)

    def _source(self, client: _Client, place: ContextPlace, document: str, version: int) -> Source:
        kept = client.sources.get(document)
        if kept is not None and kept.version == version:
            return kept
        key = (place.client_id, document)
        path = self._path(place.client_id, client.recent.uses[document].path)
        return Source(document, path, version, self._dictionary.readable_lines(key), self._grammars)

    def _path(self, client_id: str, path: str) -> str:
        """As the repository calls it; outside of the client's folders, its last two names."""
        file = PurePath(file_in(path))
        for folder in self._guard.folders(client_id):
            if file.is_relative_to(folder):
                return shown_name(str(file.relative_to(folder)))
        return shown_name("/".join(part for part in file.parts[-2:] if part != "/") or "untitled")

    def _repository(self, place: ContextPlace) -> str:
        file = PurePath(file_in(place.path))
        folders = (one for one in self._guard.folders(place.client_id) if file.is_relative_to(one))
        return next((shown_name(one.name) for one in folders), "")
