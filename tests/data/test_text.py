from pathlib import Path

import pytest

from corpora import real_data
from hamiltone.data.text import Sentence, Vocabulary, find_owners, read_glue, split_held_out, split_words
from hamiltone.errors import InputError


def write(path, *lines: str, header: str = "sentence\tlabel"):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_columns_may_come_in_any_order(tmp_path):
    expected = [Sentence(("a", "fine", "film", "."), 1), Sentence(("dull",), 0)]
    assert read_glue(write(tmp_path / "a.tsv", "A fine film .\t1", "dull \t0")) == expected
    assert read_glue(write(tmp_path / "b.tsv", "1\ta fine film .", "0\tdull", header="label\tsentence")) == expected
    (tmp_path / "c.tsv").write_bytes(b"sentence\tlabel\r\na fine film .\t1\r\ndull\t0\r\n")
    assert read_glue(tmp_path / "c.tsv") == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("good\t2", "1 fault in 3 lines: line 3 has the label '2' instead of a number from 0 to 1"),
        ("good\tpositive", "line 3 has the label 'positive'"),
        ("good\t-1", "line 3 has the label '-1'"),
        ("good\t", "line 3 has the label ''"),
        (" \t1", "line 3 has an empty sentence"),
        ("", "line 3 has 1 columns instead of 2"),
        ("good\t1\t1", "line 3 has 3 columns instead of 2"),
        (" ".join(["word"] * 65) + "\t1", "line 3 has 65 words, more than the limit of 64"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    with pytest.raises(InputError) as caught:
        read_glue(write(tmp_path / "a.tsv", "fine\t1", line))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_are_none_of_glue_s_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read: No such file"):
        read_glue(tmp_path / "absent.tsv")
    with pytest.raises(InputError, match="expected a header with the columns sentence and label"):
        read_glue(write(tmp_path / "a.tsv", "good\t1", header="text\tlabel"))
    with pytest.raises(InputError, match="holds no sentences"):
        read_glue(write(tmp_path / "b.tsv"))
    (tmp_path / "c.tsv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read_glue(tmp_path / "c.tsv")


def test_unknown_words_have_one_number_and_empty_sentences_none():
    vocabulary = Vocabulary.of([split_words("a good film"), split_words("a bad film")])
    assert vocabulary.words == ("<padding>", "<unknown>", "a", "film")
    assert vocabulary.encode(("a", "good", "film", "zyx")).tolist() == [2, 1, 3, 1]
    with pytest.raises(InputError, match="an empty sentence has nothing to classify"):
        vocabulary.encode(split_words("  "))
    with pytest.raises(InputError, match="begin with <padding>, <unknown>"):
        Vocabulary(("a", "b"))


def test_a_word_that_looks_like_padding_is_unknown():
    vocabulary = Vocabulary.of([("<padding>", "<unknown>")], least=1)
    assert vocabulary.encode(("<padding>", "<unknown>")).tolist() == [1, 1]


def test_a_phrase_belongs_to_the_sentences_around_it():
    whole, other = tuple("abcde"), tuple("xbcy")
    owners = find_owners({whole, other, tuple("bc"), tuple("de"), tuple("ace")})
    assert owners[tuple("bc")] == [whole, other]
    assert owners[tuple("de")] == [whole]
    assert owners[tuple("ace")] == [tuple("ace")]


def test_nothing_held_out_is_trained_on_even_as_a_part():
    sentences = read_glue(real_data("sst2") / "train.tsv")
    assert len(sentences) == 67_349
    train, held_out = split_held_out(sentences, 0.1)
    assert 600 < len(held_out) < 780
    assert 58_000 < len(train) < 65_000
    texts = {f" {' '.join(sentence.words)} " for sentence in train}
    whole = [" ".join(sentence.words) for sentence in held_out]
    joined = "\n".join(texts)
    assert not any(f" {text} " in joined for text in whole)
    assert sum(len(sentence.words) for sentence in held_out) / len(held_out) > 15
    phrases = find_owners({sentence.words for sentence in sentences})
    hidden = {sentence.words for sentence in held_out}
    for sentence in train:
        assert not set(phrases[sentence.words]) <= hidden
    longest = sum(words in owners for words, owners in phrases.items())
    assert f"its {longest:,} longest texts" in (Path(__file__).parents[2] / "docs" / "text.md").read_text()


def test_the_held_out_part_does_not_depend_on_order_and_can_be_too_small():
    sentences = [Sentence((f"w{n}", "x"), n % 2) for n in range(100)]
    forward, backward = split_held_out(sentences, 0.2)[1], split_held_out(sentences[::-1], 0.2)[1]
    assert sorted(forward, key=str) == sorted(backward, key=str)
    with pytest.raises(InputError, match="1 sentences are too few"):
        split_held_out(sentences[:1], 0.5)
