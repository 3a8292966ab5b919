import pickle
import re

import numpy as np
import pytest

import codednet
from codednet.codes import Code
from codednet.errors import CodednetError

TWO = [[1, 1, 0, 0], [0, 0, 1, 1]]


def test_properties_of_a_small_code():
    code = Code([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]])
    assert (code.num_classes, code.num_branches, code.active, code.rate) == (3, 4, 2, 0.5)
    assert (code.min_distance, code.pairs_at_min, code.distance_bound, code.is_optimal) == (2, 2, 2, True)
    assert code.loads.tolist() == [2, 1, 2, 1]
    assert code.spread == 1


def test_a_code_cannot_be_changed():
    code = Code(TWO)
    with pytest.raises(ValueError, match="read-only"):
        code.words[0, 0] = 0
    with pytest.raises(ValueError, match="read-only"):
        code.loads[0] = 7
    with pytest.raises(AttributeError):
        code.words = np.eye(3)


def test_the_table_given_is_copied():
    table = np.array(TWO, dtype=np.uint8)
    code = Code(table)
    table[0, 0] = 0
    assert code.words[0, 0] == 1


def test_equal_codes_are_equal_hash_alike_and_survive_pickling():
    code = Code(TWO, [[1, 0, 1, 0]])
    assert code == Code(np.array(TWO), [[1, 0, 1, 0]])
    assert code != Code(TWO)
    assert len({code, Code(TWO, [[1, 0, 1, 0]])}) == 1
    assert pickle.loads(pickle.dumps(code)) == code


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([[1, 1, 0], [1, 0, 0]], "word 0 has 2, word 1 has 1"),
        ([[1, 0], [0, 1], [1, 0]], "words 0 and 2 are the same: a code with repeated words cannot be decoded"),
        ([[0, 0], [0, 0]], "word 0 has no 1"),
        ([[1, 2], [2, 1]], "row 0, column 1 is 2"),
        ([[0.5, 1]], "row 0, column 0 is 0.5"),
        ([1, 0], "must be a table (classes, branches), not empty; got shape (2,)"),
        ([], "not empty"),
        ([[1, 0], [1]], "must all be of one length"),
    ],
)
def test_invalid_words_are_refused_by_place(words, message):
    with pytest.raises(CodednetError, match=re.escape(message)):
        Code(words)


def test_spare_words_keep_the_rules_and_change_no_property():
    code = Code(TWO, [[1, 0, 0, 1]])
    assert (code.num_classes, code.min_distance, code.loads.tolist()) == (2, 4, [1, 1, 1, 1])
    assert code.nearest([[1, 0, 0, 1]]).tolist() == [0]
    with pytest.raises(CodednetError, match="words 0 and 2 are the same"):
        Code(TWO, [[1, 1, 0, 0]])
    with pytest.raises(CodednetError, match="word 2 has 1"):
        Code(TWO, [[1, 0, 0, 0]])
    with pytest.raises(CodednetError, match="as long as the words: 4 branches, got 3"):
        Code(TWO, [[1, 1, 0]])


def test_text_marks_spare_words_and_allows_remarks(tmp_path):
    path = tmp_path / "code.txt"
    Code(TWO, [[1, 0, 0, 1]]).save(path)
    assert path.read_text() == "1100\n0011\n1001 spare\n"
    path.write_text("\ufeff# mine\r\n1100  # first\r\n\r\n0011\r\n1001 spare\r\n", encoding="utf-8")
    assert Code.load(path) == Code(TWO, [[1, 0, 0, 1]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1100\n0x11\n", "line 2, column 2: 'x' is neither 0 nor 1"),
        ("1100\n001\n", "line 2, column 4: a word of length 3; line 1 has 4"),
        ("# a\n1100\n00110\n", "line 3, column 5: a word of length 5; line 2 has 4"),
        ("1100\n0111\n", "line 2, column 1: a word with 3 ones; line 1 has 2"),
        ("1100\n0011\n1100\n", "line 3, column 1: the word of line 1 again"),
        ("0000\n", "line 1, column 1: a word with 0 ones: a class needs at least one active branch"),
        ("1100 kept\n", "line 1, column 6: only 'spare' may follow a word, got 'kept'"),
        ("\n# nothing\n", "no word found"),
        ("1100 spare\n", "no word found"),
    ],
)
def test_loading_names_the_line_and_column(tmp_path, text, message):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(CodednetError, match=re.escape(message)) as caught:
        Code.load(path)
    assert "bad.txt" in str(caught.value)


def test_loading_what_is_no_text_or_not_there_is_refused(tmp_path):
    with pytest.raises(CodednetError, match="No such file"):
        Code.load(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CodednetError, match="no text file"):
        Code.load(tmp_path / "bytes.txt")


def test_properties_of_21841_words_of_length_64_are_exact_and_fast():
    rng = np.random.default_rng(0)
    words = np.zeros((21_841, 64), dtype=np.uint8)
    np.put_along_axis(words, rng.random(words.shape).argsort(axis=1)[:, :16], 1, axis=1)
    code = codednet.Code(words)
    # An independent count in floating point, a slice of rows at a time.
    best, pairs = 64, 0
    table = words.astype(np.float32)
    for start in range(0, len(words), 512):
        apart = 32 - 2 * (table[start : start + 512] @ table.T)
        apart[np.arange(len(apart)), start + np.arange(len(apart))] = 64
        low = int(apart.min())
        pairs = (pairs if low == best else 0 if low < best else pairs) + (
            int((apart == low).sum()) if low <= best else 0
        )
        best = min(best, low)
    assert (code.min_distance, code.pairs_at_min) == (best, pairs // 2)


def test_words_longer_than_a_machine_word_are_told_apart():
    words = np.zeros((3, 130), dtype=np.uint8)
    words[0, [0, 129]] = words[1, [1, 129]] = words[2, [0, 64]] = 1
    assert Code(words).distance_counts == {2: 2, 4: 1}


def test_decoding_refuses_vectors_of_another_length():
    with pytest.raises(CodednetError, match=re.escape("must have 4 entries, one a branch, got shape (1, 3)")):
        Code(TWO).nearest([[1, 0, 0]])


def test_reordering_refuses_what_is_no_order():
    assert Code(TWO).reordered([1, 0]).words.tolist() == TWO[::-1]
    with pytest.raises(CodednetError, match=re.escape("each of 0..1 once, got [0, 0]")):
        Code(TWO).reordered([0, 0])
