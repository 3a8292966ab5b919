import pickle
import random
from collections.abc import Iterable

import numpy as np
import pytest
import torch

from codednet.data import Batch
from codednet.data.loaders import EvalLoader, TrainLoader, choose_workers
from codednet.data.one_by_one import ImageBatches
from codednet.data.order import Order
from codednet.data.whole_batch import ArrayBatches
from codednet.errors import CodednetError

RICH = {"crop": "pad", "flip": True, "randaugment": "rand-m7-n2-mstd0.5", "erase": 0.5, "erase_count": 2}
QUICK = {"crop": "pad", "flip": True}


def epoch_of(loader: Iterable[Batch]) -> list[Batch]:
    return list(loader)


def same(left: Iterable[Batch], right: Iterable[Batch]) -> bool:
    return all(
        all(torch.equal(a, b) for a, b in zip(one[:3], two[:3], strict=True))
        for one, two in zip(left, right, strict=True)
    )


@pytest.fixture
def few(mini):
    """fashion-mini with 60 images a class left to train on."""

    def opened(**fields):
        return mini(tune_per_class=1140, **fields)

    return opened


def test_a_batch_is_normalised_and_channels_last(mini):
    loader = mini(**QUICK).train_loader(128, seed=0)
    batch = next(iter(loader))
    assert batch.images.shape == (128, 1, 28, 28)
    assert batch.images.is_contiguous(memory_format=torch.channels_last)
    assert (batch.images.dtype, batch.labels.dtype, batch.indices.dtype) == (torch.float32, torch.int64, torch.int64)
    assert batch.unreadable == ()
    assert len(loader) == loader.remaining == 10_800 // 128


@pytest.mark.parametrize("in_chans", [1, 3])
def test_single_images_make_batches_of_the_same_form_as_whole_batches(few, in_chans):
    quick, slow = (few(in_chans=in_chans, **fields) for fields in (QUICK, {**QUICK, "erase": 1e-9, "workers": 0}))
    assert isinstance(quick._training_reader(0), ArrayBatches)
    assert isinstance(slow._training_reader(0), ImageBatches)
    left, right = (next(iter(data.train_loader(32, seed=0))) for data in (quick, slow))
    assert left.images.shape == right.images.shape == (32, in_chans, 28, 28)
    assert left.images.stride() == right.images.stride()
    assert left.images.dtype == right.images.dtype
    assert torch.equal(left.indices, right.indices)
    assert torch.equal(left.labels, right.labels)


def test_without_augmentation_both_ways_give_the_same_numbers(few):
    quick, slow = few(), few(erase=1e-9, workers=0)
    left, right = (next(iter(data.train_loader(32, seed=0))) for data in (quick, slow))
    assert torch.equal(left.images, right.images)


@pytest.mark.parametrize("fields", [QUICK, RICH], ids=["whole batches", "single images"])
def test_an_epoch_shows_every_image_once_in_an_order_of_its_own(few, fields):
    data = few(workers=0, **fields)
    loader = data.train_loader(60, seed=3)
    first, second = epoch_of(loader), epoch_of(loader)
    for batches in (first, second):
        seen = torch.cat([batch.indices for batch in batches]).numpy()
        assert np.array_equal(np.sort(seen), data.indices("train"))
        labels = torch.cat([batch.labels for batch in batches]).numpy()
        assert np.array_equal(labels, data.source.labels[seen])
    assert not torch.equal(first[0].indices, second[0].indices)


@pytest.mark.parametrize("fields", [QUICK, RICH], ids=["whole batches", "single images"])
def test_a_training_interrupted_anywhere_goes_on_with_the_same_batches(few, fields):
    whole = few(workers=0, **fields).train_loader(100, seed=0)
    epochs = [epoch_of(whole), epoch_of(whole)]
    later = few(workers=0, **fields).train_loader(100, seed=0)
    later.start(epoch=0, batch=4)
    assert (later.epoch, later.remaining, len(later)) == (0, 2, 6)
    assert same(later, epochs[0][4:])
    assert (later.epoch, later.remaining) == (1, 6)
    assert same(later, epochs[1])


def test_an_interrupted_iteration_is_followed_by_the_next_epoch(few):
    loader = few(**QUICK).train_loader(100, seed=0)
    first, second = epoch_of(loader), epoch_of(loader)
    loader.start(0)
    for batch in loader:
        assert torch.equal(batch.indices, first[0].indices)
        break
    assert same(loader, second)


def test_an_iterator_made_early_heeds_the_start(few):
    loader = few(**QUICK).train_loader(100, seed=0)
    first = epoch_of(loader)
    loader.start(0)
    early, unused = iter(loader), iter(loader)
    loader.start(0, 3)
    assert same(early, first[3:])
    assert loader.epoch == 1
    del unused
    assert loader.epoch == 1


def test_a_start_beyond_the_epoch_is_refused(few):
    loader = few().train_loader(100, seed=0)
    loader.start(2, 6)
    assert epoch_of(loader) == []
    with pytest.raises(CodednetError, match="an epoch has batches 0 to 6; got batch 7 of epoch 0"):
        loader.start(0, 7)
    with pytest.raises(CodednetError, match="got batch 0 of epoch -1"):
        loader.start(-1)


@pytest.mark.parametrize("fields", [QUICK, RICH], ids=["whole batches", "single images"])
def test_ranks_together_see_the_batches_of_one(few, fields):
    data = few(workers=0, **fields)
    alone = epoch_of(data.train_loader(80, seed=1))
    ranks = [epoch_of(data.train_loader(40, seed=1, rank=rank, world=2)) for rank in (0, 1)]
    together = [
        Batch(*(torch.cat(parts) for parts in zip(a[:3], b[:3], strict=True))) for a, b in zip(*ranks, strict=True)
    ]
    assert same(together, alone)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_have_equally_many_equally_large_batches(few, world):
    sizes = [
        [len(batch.labels) for batch in few().train_loader(64, seed=0, rank=rank, world=world)] for rank in range(world)
    ]
    assert sizes == [[64] * (600 // (64 * world))] * world


@pytest.mark.parametrize("world", [1, 2, 3])
def test_an_evaluation_sees_every_image_once(few, world):
    data = few()
    loaders = [data.eval_loader("test", 77, rank=rank, world=world) for rank in range(world)]
    batches = [epoch_of(loader) for loader in loaders]
    assert [len(loader) for loader in loaders] == [len(found) for found in batches]
    seen = torch.cat([batch.indices for found in batches for batch in found]).numpy()
    assert np.array_equal(np.sort(seen), data.indices("test"))
    if world == 1:
        assert np.array_equal(seen, data.indices("test"))
    assert same(loaders[0], batches[0])


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_workers_change_nothing(few):
    data = [few(workers=workers, **RICH) for workers in (0, 2)]
    loaders = [opened.train_loader(200, seed=5) for opened in data]
    assert [loader.workers for loader in loaders] == [0, 2]
    for _ in range(2):
        assert same(*loaders)
    # A new iteration while workers still hold batches of an abandoned one.
    next(iter(loaders[0])), next(iter(loaders[1]))
    assert loaders[0].epoch == loaders[1].epoch == 3
    assert same(*loaders)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_evaluation_by_workers_changes_nothing(few):
    loaders = [few(workers=workers, test_size=20).eval_loader("test", 500) for workers in (0, 2)]
    assert same(*loaders)
    assert same(*loaders)


def test_readers_can_be_sent_to_workers_that_share_nothing(few):
    data = few(workers=0, test_size=20, **RICH)
    for reader in (data._training_reader(0), data._evaluation_reader()):
        assert isinstance(pickle.loads(pickle.dumps(reader)), ImageBatches)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("fields", [QUICK, RICH], ids=["whole batches", "single images"])
def test_the_training_s_random_streams_are_left_alone(few, fields, workers):
    def draws():
        return random.random(), float(np.random.rand()), float(torch.rand(()))  # noqa: NPY002

    loader = few(workers=workers, **fields).train_loader(300, seed=0)
    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    want = draws()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    epoch_of(loader)
    assert draws() == want


def test_the_training_s_random_streams_change_nothing(few):
    data = few(workers=0, **RICH)
    torch.manual_seed(1)
    one = epoch_of(data.train_loader(300, seed=0))
    torch.manual_seed(2), random.seed(3)
    assert same(one, data.train_loader(300, seed=0))
    assert not same(one, data.train_loader(300, seed=1))


def test_balanced_draws_show_every_class_alike(few):
    data = few(balance="sampler", **QUICK)
    rare = np.concatenate([data.indices("train")[data.labels("train") != 0], data.indices("train")[:3]])
    data.splits["train"] = np.sort(rare)
    loader = data.train_loader(len(rare), seed=0)
    counts = sum(np.bincount(batch.labels, minlength=10) for _ in range(10) for batch in loader)
    expected = counts.sum() / 10
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)
    loader.start(0)
    batch = next(iter(loader))
    again = next(iter(few(balance="none", **QUICK).train_loader(100, seed=0)))
    assert len(set(batch.indices.tolist())) < len(batch.indices)
    assert len(set(again.indices.tolist())) == len(again.indices)
    # An image that comes again in the epoch is cropped anew.
    first = batch.indices[batch.labels == 0][0]
    copies = batch.images[batch.indices == first]
    assert len({copy.numpy().tobytes() for copy in copies}) > 1


def test_class_weights_undo_the_imbalance(few):
    assert few().class_weights() is None
    data = few(balance="weights")
    keep = data.indices("train")[(data.labels("train") != 0) | (np.arange(600) % 4 == 0)]
    data.splits["train"] = keep
    weights = data.class_weights()
    from sklearn.utils.class_weight import compute_class_weight

    want = compute_class_weight("balanced", classes=np.arange(10), y=data.labels("train"))
    torch.testing.assert_close(weights, torch.from_numpy(want).float())


def test_time_spent_waiting_is_counted():
    class Slow:
        def read(self, request):
            clock.append(None)
            return Batch(torch.zeros(1, 1, 1, 1), torch.zeros(1).long(), torch.from_numpy(request.indices))

    clock = []
    loader = EvalLoader(Slow(), np.arange(3), batch=1)
    assert loader.seconds_waited == 0
    epoch_of(loader)
    assert 0 < loader.seconds_waited < 1
    assert len(clock) == 3


def test_a_batch_larger_than_the_data_is_refused_with_one_that_fits(few):
    with pytest.raises(CodednetError) as refused:
        few().train_loader(301, seed=0, world=2)
    assert str(refused.value) == (
        "a step needs 602 training images (301 on each of 2 processes); there are 600. Use a batch of 300 or fewer."
    )
    assert len(few().train_loader(300, seed=0, world=2)) == 1
    with pytest.raises(CodednetError, match="got batch=0, rank=0, world=1"):
        few().train_loader(0, seed=0)
    with pytest.raises(CodednetError, match="got batch=5, rank=2, world=2"):
        few().eval_loader("test", 5, rank=2, world=2)


def test_workers_are_chosen_by_the_cores_at_hand(monkeypatch):
    assert 1 <= choose_workers() <= 8
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert choose_workers() == 1


class Unreadable:
    """A reader for which odd images are unreadable."""

    def read(self, request):
        good = request.indices[request.indices % 2 == 0]
        bad = tuple(f"{i}.png (broken)" for i in request.indices if i % 2)
        return Batch(torch.zeros(len(good), 1, 2, 2), torch.from_numpy(good), torch.from_numpy(good), bad)


def in_order(epoch):
    return Order(np.arange(20), None)


@pytest.mark.parametrize("workers", [0, 1])
def test_unreadable_images_are_left_out_up_to_a_limit(workers):
    loader = TrainLoader(Unreadable(), in_order, 20, batch=4, workers=workers, max_unreadable=10)
    for _ in range(2):
        assert [len(batch.labels) for batch in loader] == [2] * 5
    assert len(loader.unreadable) == 10
    strict = TrainLoader(Unreadable(), in_order, 20, batch=4, workers=workers, max_unreadable=6)
    with pytest.raises(CodednetError) as refused:
        epoch_of(strict)
    assert str(refused.value) == (
        "at most 6 images may be unreadable, 8 are: 1.png (broken); 11.png (broken); 13.png (broken); 15.png (broken); "
        "3.png (broken); .... Repair or remove them, or raise max_unreadable."
    )


def test_a_batch_without_a_readable_image_is_refused():
    loader = EvalLoader(Unreadable(), np.array([2, 4, 1, 3]), batch=2)
    with pytest.raises(CodednetError, match=r"all 2 of one batch are unreadable: 1.png \(broken\); 3.png"):
        epoch_of(loader)
