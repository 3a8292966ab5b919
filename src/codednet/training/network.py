"""The network that a run's config asks for, for its data: its codes found or designed once."""

import torch

from codednet.codes import Code, design_code
from codednet.codes.poor import poor_code
from codednet.data.opening import Data
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.models.config import NetworkConfig
from codednet.models.preprocessing import preprocessing
from codednet.models.variants import TWINS, make_config
from codednet.runs.config import ModelConfig, RunConfig

# Classes whose names are worth a line each in every config.json.
NAMED = 2000


def network_config(config: RunConfig, data: Data) -> NetworkConfig:
    """Description of the network, its code words in it."""
    model = config.model
    if model.name in TWINS:
        raise CodednetError(
            f"model.name is a coded variant; for the plain twin of {TWINS[model.name]}, add coded=false."
        )
    options: dict[str, object] = {
        "shortcut": model.shortcut,
        "drop_branch": config.coding.drop_branch,
        "normalise": config.coding.normalise,
        "drop_rate": model.drop_rate,
        "drop_path_rate": model.drop_path_rate,
    }
    if model.coded and model.active is not None:
        options["active"] = model.active
    names = data.classes if len(data.classes) <= NAMED else None
    classes = len(data.classes)
    found = make_config(model.architecture, classes, data.in_chans, names, **options)
    if (model.code_seed or model.code_quality == "poor") and found.codes:
        codes = [_other(code, model) for code in found.codes]
        by_block = {name: codes[block.code] for name, block in found.coded_blocks() if block.code is not None}
        found = make_config(model.architecture, classes, data.in_chans, names, codes=by_block, **options)
    return found


def build(network: NetworkConfig, config: RunConfig, data: Data) -> CodedResNeXt:
    """The network with the fresh weights of the run's seed, and the preprocessing of its data."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = CodedResNeXt(network)
    model.pretrained_cfg = preprocessing(network) | data.preprocessing()
    return model


def _other(code: Code, model: ModelConfig) -> Code:
    """A code of the same numbers, of the quality and by the seed that the config asks for."""
    make = poor_code if model.code_quality == "poor" else design_code
    return make(code.num_classes, code.num_branches, code.active, seed=model.code_seed)
