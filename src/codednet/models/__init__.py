"""Networks: coded ResNeXts and their plain twins. Importing this registers the coded ones with timm."""

from codednet.models import coded_resnext
from codednet.models.config import BlockConfig, NetworkConfig
from codednet.models.create import create_model
from codednet.models.network import CodedResNeXt
from codednet.models.saving import load, save
from codednet.models.variants import TWINS, VARIANTS, Options
from codednet.models.walk import Step, Trace

__all__ = [
    "TWINS",
    "VARIANTS",
    "BlockConfig",
    "CodedResNeXt",
    "NetworkConfig",
    "Options",
    "Step",
    "Trace",
    "coded_resnext",
    "create_model",
    "load",
    "save",
]
