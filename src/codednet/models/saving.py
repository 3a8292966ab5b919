"""Save and load: a folder, or the hub's "user/repo", full and extracted networks alike."""

import re
from pathlib import Path

from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError
from torch import nn

from codednet.errors import CodednetError
from codednet.models.network import CodedResNeXt
from codednet.models.store import CONFIG, WEIGHTS, read_network, write_network


def save(model: nn.Module, folder: str | Path) -> None:
    """Write the network as config.json and model.safetensors."""
    if not isinstance(model, CodedResNeXt):
        raise CodednetError(f"only networks of codednet.create_model can be saved; got {type(model).__name__}.")
    write_network(model, folder)


def load(folder_or_hub_id: str | Path) -> CodedResNeXt:
    """Network of a folder that `save` wrote, or of a "user/repo" on the hub, in evaluation mode."""
    folder = Path(folder_or_hub_id)
    if folder.is_dir():
        return read_network(folder / CONFIG, folder / WEIGHTS, CodedResNeXt)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(folder_or_hub_id)):
        raise CodednetError(f"'{folder_or_hub_id}' is no folder, nor the hub's 'user/repo'.")
    try:
        return CodedResNeXt.from_pretrained(str(folder_or_hub_id))
    except (EntryNotFoundError, LocalEntryNotFoundError, HfHubHTTPError) as error:
        raise CodednetError(f"'{folder_or_hub_id}' is no folder, and the hub does not give it: {error}") from None
