"""The bundled pictures of no class: 1,000 drawings of Quick, Draw! (Google, CC-BY 4.0; see files/)."""

from importlib import resources

import numpy as np
import torch

from codednet.data.found import Found
from codednet.data.source import ArraySource


def quickdraw_mini() -> Found:
    """1,000 images to test on, two or three of each of 345 classes, and none to train on."""
    file = resources.files("codednet.data") / "files" / "quickdraw-mini.npz"
    with resources.as_file(file) as path, np.load(path, allow_pickle=False) as stored:
        images, labels, classes = stored["images"], stored["labels"], stored["classes"]
    source = ArraySource(torch.from_numpy(images)[..., None], labels.astype(np.int64), tuple(classes.tolist()))
    return Found(source, np.arange(0), np.arange(len(labels)))
