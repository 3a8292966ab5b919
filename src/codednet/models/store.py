"""A network's two files: config.json and model.safetensors, written whole, read back without pickle."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from codednet.atomic import write_whole
from codednet.errors import CodednetError
from codednet.models.config import NetworkConfig
from codednet.models.document import from_document, to_document, words_digest
from codednet.models.network import CodedResNeXt
from codednet.models.preprocessing import preprocessing

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
DIGEST = "codednet_words"

M = TypeVar("M", bound=CodedResNeXt)


def write_network(model: CodedResNeXt, folder: str | Path) -> None:
    """Write config.json and model.safetensors; a file is there whole or not at all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # timm's own layout of config.json, so that timm's "local-dir:" and "hf-hub:" names find the network too.
    document = {
        "architecture": model.config.architecture,
        "num_classes": model.num_classes,
        "num_features": model.num_features,
        "global_pool": model.config.global_pool,
        "pretrained_cfg": preprocessing(model.config, _without_source(model.pretrained_cfg)),
        "model_args": {"network": to_document(model.config)},
    }
    # safetensors refuses what is not contiguous, as convolutions in channels_last are not.
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    metadata = {"format": "pt", DIGEST: words_digest(model.config)}
    write_whole(folder / WEIGHTS, lambda path: save_file(tensors, path, metadata))
    text = json.dumps(document, indent=2, default=list) + "\n"
    write_whole(folder / CONFIG, lambda path: path.write_text(text, encoding="utf-8"))


def read_network(config: str | Path, weights: str | Path, build: Callable[[NetworkConfig], M]) -> M:
    """Network of these two files, in evaluation mode."""
    document = _read_json(Path(config))
    try:
        network = document["model_args"]["network"]
    except (KeyError, TypeError):
        raise CodednetError(f"'{config}' describes no codednet network: it has no model_args.network.") from None
    # Fresh weights are drawn and overwritten: the caller's random numbers must not depend on that.
    with torch.random.fork_rng(devices=[]):
        model = build(from_document(network))
    cfg = document.get("pretrained_cfg", {})
    model.pretrained_cfg = preprocessing(model.config, {key: _tuple(value) for key, value in cfg.items()} or None)
    load_weights(model, weights)
    return model.eval()


def load_weights(model: CodedResNeXt, path: str | Path) -> None:
    """Give the network the weights of a model.safetensors that was trained under the same code words."""
    try:
        with safe_open(path, framework="pt") as file:
            digest = (file.metadata() or {}).get(DIGEST)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise CodednetError(f"no weights can be read from '{path}': {error}.") from None
    if digest is not None and digest != words_digest(model.config):
        raise CodednetError(
            f"the weights in '{path}' were trained under other code words than the network's: "
            "load them with the config.json that was saved with them."
        )
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise CodednetError(f"the weights in '{path}' do not fit {model.config.architecture}: {error}") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CodednetError(f"no network can be read from '{path}': {error.strerror or error}.") from None
    except ValueError as error:
        raise CodednetError(f"'{path}' is no JSON: {error}.") from None
    if not isinstance(document, dict):
        raise CodednetError(f"'{path}' must hold a JSON object; got {type(document).__name__}.")
    return document


def _without_source(cfg: Mapping[str, Any]) -> dict[str, Any]:
    source = ("url", "file", "state_dict", "hf_hub_id", "hf_hub_filename", "source", "tag", "custom_load")
    return {key: value for key, value in cfg.items() if key not in source}


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
