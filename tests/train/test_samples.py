"""Samples are what the model reads when it serves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.families import FimTokens, find_family
from completiond.complete.prompt import PromptBudget, build_prompt
from completiond.complete.tokens import TextTokenizer
from completiond.exclude.exclusions import Exclusions
from completiond.train.corpus import Corpus, find_corpus
from completiond.train.samples import WINDOWS_PER_FILE, Sample, make_samples
from tests.fake_model import EOS, FIM_QWEN, PADDED_VOCAB_SIZE, bytes_of, fake_tokenizer
from tests.train.small import code, write

NUM_TOKENS = 128
STRANGE = "name = 'h\u00e9 \u6f22 <|fim_middle|> <|endoftext|>'\n" * 60


def tokenizer_of(markers: Sequence[str] = FIM_QWEN, **config: Any) -> tuple[TextTokenizer, FimTokens | None]:
    tokenizer = TextTokenizer(fake_tokenizer(markers), config, PADDED_VOCAB_SIZE)
    return tokenizer, find_family(tokenizer.control_id)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    for name in ("a", "b", "c"):
        write(tmp_path / name, {f"{number}.py": code(100 * ord(name) + number, 150) for number in range(20)})
    write(tmp_path / "a", {"strange.py": STRANGE})
    write(tmp_path / "b", {"strange.py": "#\n" + STRANGE})
    return find_corpus([tmp_path], Exclusions())


def samples_of(
    corpus: Corpus, tokenizer: TextTokenizer, fim: FimTokens | None, num_tokens: int = NUM_TOKENS, seed: int = 0
) -> list[Sample]:
    return list(make_samples(corpus, corpus.training, tokenizer, fim, num_tokens, seed))


def all_bytes(corpus: Corpus) -> list[bytes]:
    """Texts by their ids, of which this vocabulary has one for each byte."""
    return [bytes(bytes_of(text)) for _, _, text in corpus.texts(corpus.training)]


@pytest.mark.parametrize("markers", [FIM_QWEN, ()])
@pytest.mark.parametrize("config", [{}, {"add_bos_token": True, "bos_token_id": EOS}])
@pytest.mark.parametrize("num_tokens", [64, 129])
def test_all_have_the_length_asked_for(
    corpus: Corpus, markers: Sequence[str], config: dict[str, Any], num_tokens: int
) -> None:
    tokenizer, fim = tokenizer_of(markers, **config)
    samples = samples_of(corpus, tokenizer, fim, num_tokens)
    assert len(samples) > 100
    assert {len(sample.token_ids) for sample in samples} == {num_tokens}
    if config:
        assert {sample.token_ids[0] for sample in samples} == {EOS}
        assert all(EOS not in sample.token_ids[1:] for sample in samples)


def test_they_are_the_same_on_every_run_and_others_with_another_seed(corpus: Corpus) -> None:
    tokenizer, fim = tokenizer_of()
    first = samples_of(corpus, tokenizer, fim)
    assert samples_of(corpus, tokenizer, fim) == first
    assert samples_of(corpus, tokenizer, fim, seed=1) != first


def test_a_files_samples_do_not_depend_on_where_its_folder_lies(corpus: Corpus, tmp_path: Path) -> None:
    tokenizer, fim = tokenizer_of()
    before = samples_of(corpus, tokenizer, fim)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / name).rename(moved / name)
    assert samples_of(find_corpus([moved], Exclusions()), tokenizer, fim) == before


def test_about_half_are_fills(corpus: Corpus) -> None:
    tokenizer, fim = tokenizer_of()
    samples = samples_of(corpus, tokenizer, fim)
    assert 0.35 < sum(sample.middle > 0 for sample in samples) / len(samples) < 0.6


def test_a_fill_is_a_piece_of_a_file_in_the_serving_format(corpus: Corpus) -> None:
    tokenizer, fim = tokenizer_of()
    assert fim is not None
    texts = all_bytes(corpus)
    fills = [sample for sample in samples_of(corpus, tokenizer, fim) if sample.middle]
    at_line_begin = 0
    for fill in fills:
        ids = list(fill.token_ids)
        behind, hole = ids.index(fim.suffix_id), ids.index(fim.middle_id or -1)
        assert ids[0] == fim.prefix_id
        assert fill.middle == hole + 1
        prefix, suffix, middle = ids[1:behind], ids[behind + 1 : hole], ids[hole + 1 :]
        assert max(*prefix, *suffix, *middle) < EOS, "no control token anywhere else"
        assert any(bytes([*prefix, *middle, *suffix]) in text for text in texts)
        assert tokenizer.decode(suffix).startswith("\n"), "a hole ends with its line"
        assert middle
        at_line_begin += tokenizer.decode(prefix).rstrip(" ").endswith("\n")
    assert 0.3 < at_line_begin / len(fills) < 0.9


def test_a_fill_begins_as_the_prompt_of_the_daemon(corpus: Corpus) -> None:
    tokenizer, fim = tokenizer_of()
    assert fim is not None
    for fill in samples_of(corpus, tokenizer, fim):
        if fill.middle:
            ids = fill.token_ids
            behind = ids.index(fim.suffix_id)
            prefix, suffix = tokenizer.decode(ids[1:behind]), tokenizer.decode(ids[behind + 1 : fill.middle - 1])
            if "\ufffd" not in prefix:  # else it was cut inside a character
                prompt = build_prompt(prefix, suffix, tokenizer, fim, PromptBudget(999, 999))
                assert prompt.token_ids == ids[: fill.middle]


@pytest.mark.parametrize("markers", [(), ("[PREFIX]", "[SUFFIX]")])
def test_models_without_holes_between_get_plain_text(corpus: Corpus, markers: Sequence[str]) -> None:
    tokenizer, fim = tokenizer_of(markers)
    assert (fim is None) == (not markers)
    texts = all_bytes(corpus)
    for sample in samples_of(corpus, tokenizer, fim):
        assert sample.middle == 0
        assert any(bytes(sample.token_ids) in text for text in texts)


def test_a_long_file_gives_no_more_than_several_short_ones(tmp_path: Path) -> None:
    write(tmp_path, {"a/long.py": code(1, 3000), "b/long.py": code(2, 3000), "c/short.py": code(3, 8) + "#" * 300})
    corpus = find_corpus([tmp_path], Exclusions())
    tokenizer, fim = tokenizer_of(())
    for repository in (*corpus.training, *corpus.held_out):
        samples = list(make_samples(corpus, [repository], tokenizer, fim, 512))
        assert len(samples) == (0 if repository.name == "c" else WINDOWS_PER_FILE)
