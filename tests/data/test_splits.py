import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codednet.data import DataConfig
from codednet.data.splits import draw, make_splits
from codednet.errors import CodednetError


def split(labels, test=None, **fields):
    labels = np.asarray(labels)
    classes = [f"class {k}" for k in range(labels.max() + 1)]
    test = None if test is None else np.arange(len(labels) - test, len(labels))
    train = np.arange(len(labels) if test is None else test[0])
    return make_splits(train, test, labels, classes, DataConfig(**fields))


@given(
    counts=st.lists(st.integers(2, 40), min_size=2, max_size=8),
    tune=st.sampled_from([0.05, 0.1, 0.3, 0.5]),
    seed=st.integers(0, 5),
)
def test_splits_share_the_images_and_every_class(counts, tune, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    splits = split(labels, tune=tune, split_seed=seed)
    parts = [splits[name] for name in ("train", "tune-fit", "tune-risk", "test")]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(labels)))
    assert np.array_equal(np.sort(np.concatenate(parts[1:3])), splits["tune"])
    assert all(np.array_equal(part, np.sort(part)) and part.dtype == np.int64 for part in splits.values())
    of = {name: np.bincount(labels[part], minlength=len(counts)) for name, part in splits.items()}
    assert (of["test"] >= 1).all()
    assert (of["train"] >= 1).all()
    assert np.abs(of["test"] - 0.2 * np.array(counts)).max() <= 1
    assert np.abs(of["tune"] - tune * (of["tune"] + of["train"])).max() <= 1
    assert np.abs(of["tune-fit"] - of["tune-risk"]).max() <= 1
    assert abs(len(splits["tune-fit"]) - len(splits["tune-risk"])) <= 1


def test_the_mini_set_has_the_promised_splits(mini):
    data = mini()
    sizes = {name: len(indices) for name, indices in data.splits.items()}
    assert sizes == {"train": 10_800, "tune": 1_200, "tune-fit": 600, "tune-risk": 600, "test": 2_000}
    for name, size in sizes.items():
        assert np.bincount(data.labels(name)).tolist() == [size // 10] * 10


def test_a_seed_fixes_the_draw():
    labels = np.arange(200) % 4
    first, same, other = (split(labels, test=40, split_seed=seed)["tune"] for seed in (0, 0, 1))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_a_given_test_stays_whole_whatever_the_seed():
    labels = np.arange(200) % 4
    assert all(split(labels, test=40, split_seed=s)["test"].tolist() == list(range(160, 200)) for s in range(3))


def test_without_tune_all_is_for_training(mini):
    data = mini(tune=0)
    assert sorted(data.splits) == ["test", "train"]
    assert len(data.indices("train")) == 12_000
    with pytest.raises(CodednetError, match=r"no split 'tune-risk', since tune=0 .* Use tune=0.1 or tune_per_class=10"):
        data.eval_loader("tune-risk", 10)
    assert len(mini(tune=0.1).labels("tune-risk")) == 600
    assert len(mini(tune=0, tune_per_class=10).labels("tune-risk")) == 50


def test_an_unknown_split_names_the_nearest(mini):
    with pytest.raises(CodednetError, match=r"no split is called 'tune_fit': did you mean 'tune-fit'\?"):
        mini().labels("tune_fit")


def test_images_a_class_may_be_asked_for_instead_of_a_share():
    labels = [0] * 30 + [1] * 90
    splits = split(labels, tune_per_class=10, test_share=0.1)
    assert np.bincount(np.array(labels)[splits["tune"]]).tolist() == [10, 10]
    with pytest.raises(CodednetError) as refused:
        split(labels, tune_per_class=27, test_share=0.1)
    assert str(refused.value) == (
        "tune_per_class=27 leaves no image of class 'class 0' to train on: it has 27. "
        "Use tune_per_class=26, or a share with tune."
    )
    assert len(split(labels, tune_per_class=26, test_share=0.1)["tune"]) == 52


def test_a_class_of_one_image_is_refused_where_a_test_is_drawn_and_trained_on_otherwise():
    with pytest.raises(CodednetError, match="'class 1' needs 2 images, one to train on and one for the test split"):
        split([0] * 10 + [1])
    assert 10 in split([0] * 10 + [1] + [0, 1], test=2)["train"]


def test_a_larger_draw_holds_the_smaller():
    labels = np.arange(300) % 3
    _, small = draw(np.arange(300), labels, np.full(3, 5), seed=1, number=2)
    _, large = draw(np.arange(300), labels, np.full(3, 9), seed=1, number=2)
    assert set(small) < set(large)
