"""The bundled data set: a stratified part of Fashion-MNIST (MIT licence, Zalando SE; see files/)."""

from importlib import resources

import numpy as np
import torch

from codednet.data.found import Found
from codednet.data.source import ArraySource

CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def fashion_mini() -> Found:
    """12,000 images to train on, 1,200 a class, then 2,000 to test on, 200 a class."""
    file = resources.files("codednet.data") / "files" / "fashion-mini.npz"
    with resources.as_file(file) as path, np.load(path, allow_pickle=False) as stored:
        images, labels, train = stored["images"], stored["labels"], int(stored["train"])
    source = ArraySource(torch.from_numpy(images)[..., None], labels.astype(np.int64), CLASSES)
    return Found(source, np.arange(train), np.arange(train, len(labels)))
