import codednet
from codednet.codes import Code, find_code, shipped_code, shipped_sizes

VARIANTS = [(10, 10, 5), (10, 10, 3), (100, 20, 8), (100, 20, 4), (1000, 32, 16), (1000, 32, 8)]


def test_every_code_of_the_shipped_variants_is_data_optimal_and_even():
    assert set(shipped_sizes()) >= set(VARIANTS)
    for size in VARIANTS:
        code = shipped_code(*size)
        assert (code.num_classes, code.num_branches, code.active) == size
        assert code.is_optimal
        assert code.spread == 0


def test_the_paper_s_codes_are_as_printed():
    five, three = shipped_code(10, 10, 5), shipped_code(10, 10, 3)
    horse, ship = 7, 8
    assert "".join(map(str, five.words[horse])) == "0100011110"
    assert "".join(map(str, three.words[ship])) == "0001100001"
    assert (five.min_distance, three.min_distance) == (4, 4)
    for code in (five, three):  # the paper names the pair at the smallest distance
        assert (code.words[horse] != code.words[ship]).sum() == 4


def test_a_code_that_is_not_shipped_is_designed_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEDNET_CACHE", str(tmp_path))
    code = find_code(7, 8, 3)
    kept = list(tmp_path.rglob("*.txt"))
    assert [Code.load(path) for path in kept] == [code]
    other = design_marker(kept[0])
    assert find_code(7, 8, 3) == other


def design_marker(path):
    """Another code in the cache's place: what is found next must be it."""
    code = codednet.design_code(7, 8, 3, seed=5)
    code.save(path)
    return code


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CODEDNET_CACHE", str(tmp_path / "file"))
    assert find_code(7, 8, 3).num_classes == 7
