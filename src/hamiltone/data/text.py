"""Labelled sentences: GLUE's tab-separated files, a vocabulary of words, and a held-out part that does not leak."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hamiltone.data.files import summarise
from hamiltone.errors import InputError

PADDING_WORD, UNKNOWN_WORD = "<padding>", "<unknown>"

Words = tuple[str, ...]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Sentence:
    """A sentence in words, and its label."""

    words: Words
    label: int


def split_words(sentence: str) -> Words:
    """The words of a sentence whose words and punctuation are separated by spaces, as in GLUE; in lower case.

    >>> split_words("It 's fun .")
    ('it', "'s", 'fun', '.')
    """
    return tuple(sentence.lower().split())


class Vocabulary:
    """Words by number: 0 is padding, 1 is any unknown word.

    Args:
        words: The words in the order of their numbers: `PADDING_WORD`, `UNKNOWN_WORD`, then distinct others.

    >>> vocabulary = Vocabulary.of([("a", "good", "film"), ("a", "bad", "film")])
    >>> vocabulary.encode(("a", "great", "film")).tolist()
    [2, 1, 3]
    """

    padding, unknown = 0, 1

    def __init__(self, words: Sequence[str]) -> None:
        if tuple(words[:2]) != (PADDING_WORD, UNKNOWN_WORD) or len(set(words)) != len(words):
            raise InputError(f"a vocabulary must hold distinct words and begin with {PADDING_WORD}, {UNKNOWN_WORD}")
        self.words = tuple(words)
        self._numbers = {word: number for number, word in enumerate(words) if number != self.padding}

    @classmethod
    def of(cls, sentences: Iterable[Words], least: int = 2) -> "Vocabulary":
        """The words that occur at least `least` times, the most frequent first."""
        counts = Counter(word for words in sentences for word in words)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        kept = [word for word, count in ranked if count >= least and word not in (PADDING_WORD, UNKNOWN_WORD)]
        return cls((PADDING_WORD, UNKNOWN_WORD, *kept))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Words) -> Numbers:
        """The numbers ``(N,)`` of a sentence; a word that is not in the vocabulary counts as the unknown one."""
        if not words:
            raise InputError("an empty sentence has nothing to classify")
        return np.array([self._numbers.get(word, self.unknown) for word in words], np.int64)


def read_glue(path: Path, *, classes: int = 2, limit: int = 64) -> list[Sentence]:
    """The sentences of a file with a header that names the columns `sentence` and `label`, in any order.

    Empty sentences, sentences of more than `limit` words and labels that are not a class are named in one `InputError`.
    """
    try:
        lines = path.read_text("utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8") from None
    columns = lines[0].rstrip("\r").split("\t")
    if not {"sentence", "label"} <= set(columns):
        raise InputError(f"{path}: expected a header with the columns sentence and label, got {lines[0][:80]!r}")
    text, label = columns.index("sentence"), columns.index("label")
    sentences, faults = [], []
    for number, line in enumerate(lines[1:], 2):
        if not line and number == len(lines):
            break  # what follows the last line break
        fields = line.rstrip("\r").split("\t")
        words = split_words(fields[text]) if len(fields) == len(columns) else ()
        fault = _fault(fields, len(columns), words, limit) or _label_fault(fields[label], classes)
        if fault:
            faults.append(f"line {number} {fault}")
        else:
            sentences.append(Sentence(words, int(fields[label])))
    if faults or not sentences:
        raise InputError(f"{path}: {summarise(faults, len(lines) - 1, 'lines') if faults else 'holds no sentences'}")
    return sentences


def _fault(fields: list[str], columns: int, words: Words, limit: int) -> str:
    if len(fields) != columns:
        return f"has {len(fields)} columns instead of {columns}"
    if not words:
        return "has an empty sentence"
    if len(words) > limit:
        return f"has {len(words)} words, more than the limit of {limit} (model.limit)"
    return ""


def _label_fault(label: str, classes: int) -> str:
    if label.isascii() and label.isdigit() and int(label) < classes:
        return ""
    return f"has the label {label!r} instead of a number from 0 to {classes - 1}"


def split_held_out(sentences: Sequence[Sentence], share: float) -> tuple[list[Sentence], list[Sentence]]:
    """Sentences to train on, and a share of the whole sentences to validate on; the same for every seed.

    The training file of SST-2 holds, besides its sentences, the phrases they consist of. If phrases were held out one
    by one, nearly all of them would also be trained on, inside the sentences around them. So only sentences that are
    part of no other are held out, chosen by a hash of their words, together with every phrase that occurs in held-out
    sentences only. Those phrases are used for neither: like the development set, the held-out part is whole sentences.
    """
    owners = find_owners({sentence.words for sentence in sentences})
    hidden = {words for words, whole in owners.items() if all(_hash(owner) < share for owner in whole)}
    train = [sentence for sentence in sentences if sentence.words not in hidden]
    held_out = [
        sentence for sentence in sentences if sentence.words in hidden and sentence.words in owners[sentence.words]
    ]
    if not train or not held_out:
        raise InputError(f"{len(sentences)} sentences are too few to hold out a share of {share:g}")
    return train, held_out


def find_owners(phrases: set[Words]) -> dict[Words, list[Words]]:
    """The whole sentences in which each phrase occurs word for word; a sentence that occurs in no other owns itself.

    >>> find_owners({("a", "good", "film"), ("good",)})
    {('a', 'good', 'film'): [('a', 'good', 'film')], ('good',): [('a', 'good', 'film')]}
    """
    owners: dict[Words, list[Words]] = {}
    for words in sorted(phrases, key=lambda words: (-len(words), words)):
        if words in owners:
            continue
        parts = {words[start:end] for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
        for part in sorted(parts & phrases, key=lambda part: (-len(part), part)):
            owners.setdefault(part, []).append(words)
    return owners


def _hash(words: Words) -> float:
    """A number from 0 to 1 that depends on the words alone."""
    return int.from_bytes(hashlib.sha256(" ".join(words).encode()).digest()[:4]) / 2**32
