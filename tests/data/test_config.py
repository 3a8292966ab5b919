import subprocess
import sys

import pytest

from codednet.data import DataConfig
from codednet.errors import CodednetError


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "fashion_mini"}, "no data set is called 'fashion_mini': did you mean 'fashion-mini'?"),
        ({"name": "?"}, "known: fashion-mini, fashion-mnist, mnist, cifar10, cifar100, imagefolder, webdataset, quick"),
        ({"crop": "random"}, "crop must be one of none, pad, resized; got 'random'."),
        ({"balance": "yes"}, "balance must be one of none, sampler, weights; got 'yes'."),
        ({"image_size": 0}, "image_size must be 1 pixel or more; got 0."),
        ({"test_size": -3}, "test_size must be 1 pixel or more; got -3."),
        ({"test_crop": 0.0}, "test_crop is a share above 0, at most 1; got 0.0."),
        ({"erase": 1.5}, "erase is a probability from 0 to 1; got 1.5."),
        ({"tune": 1.0}, "tune is a share of train below 1; got 1.0. Use 0.1, or 0 for no tune split."),
        ({"test_share": 0.0}, "test_share is a share above 0 and below 1; got 0.0."),
        ({"pad": -1}, "pad must be 0 or more; got -1."),
        ({"erase_count": 0}, "erase_count must be 1 or more; got 0."),
        ({"mixup": float("nan")}, "mixup must be 0 or more; got nan."),
        ({"cutmix": -0.5}, "cutmix must be 0 or more; got -0.5."),
        ({"tune_per_class": -1}, "tune_per_class must be 0 or more; got -1."),
        ({"workers": -1}, "workers must be 0 or more; got -1."),
        ({"max_unreadable": -1}, "max_unreadable must be 0 or more; got -1."),
        ({"mean": (0.5,)}, "mean and std go together: give both, or neither."),
        ({"mean": (0.5,), "std": (0.0,)}, r"those of std above 0; got (0.5,), (0.0,)."),
        ({"mean": (0.5, 0.4), "std": (0.1,)}, "mean and std must have a number for each channel"),
        (
            {"name": "webdataset", "root": "s3://bucket/train"},
            "root must be a folder of this machine; got 's3://bucket/train'. Download it first.",
        ),
        ({"name": "webdataset", "root": "pipe:cat x.tar"}, "root must be a folder of this machine"),
    ],
)
def test_what_cannot_be_is_refused_by_name(fields, message):
    with pytest.raises(CodednetError) as refused:
        DataConfig(**fields)
    assert message in str(refused.value)


def test_no_tune_split_is_had_in_two_ways():
    assert DataConfig().has_tune
    assert DataConfig(tune=0, tune_per_class=3).has_tune
    assert not DataConfig(tune=0).has_tune
    assert not DataConfig(tune_per_class=0).has_tune


def test_a_config_needs_no_torch_and_the_room_no_lightning():
    script = """
import sys
import codednet.data
codednet.data.DataConfig(name="cifar10")
assert not {"torch", "numpy", "lightning", "timm"} & set(sys.modules), "light"
codednet.data.open_data, codednet.data.read_image
assert "torch" in sys.modules and "lightning" not in sys.modules, "no Lightning"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_of_the_room_are_those_it_lists():
    import codednet.data

    assert all(hasattr(codednet.data, name) for name in codednet.data.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Loader'"):
        _ = codednet.data.Loader
