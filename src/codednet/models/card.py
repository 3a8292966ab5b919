"""The model card: what a network is, its coded blocks, and how to load it."""

from collections.abc import Mapping
from typing import Any

from huggingface_hub import ModelCardData

from codednet.models.config import NetworkConfig

TEMPLATE = """\
---
{data}
---

# {title}

{sentence} It has {parameters:,} parameters and tells {classes} apart.

```python
import codednet

model = codednet.load("{where}")
trace = model.trace(images)  # logits, and the energies of every coded block
codednet.decode(trace.energies, model.codes)  # labels of the early decoders
small = codednet.extract(model, classes=[{example}])  # the network of one class alone
```

Images are preprocessed as `pretrained_cfg` in `config.json` says, in timm's form. The code words are in `config.json`
too: they were fixed before training, and the weights mean nothing under other words.
{blocks}{names}"""


def card_text(
    config: NetworkConfig, parameters: int, data: Mapping[str, Any], repo_id: str = "user/repo", **_: Any
) -> str:
    """Text of the card, its metadata first."""
    coded = list(config.coded_blocks())
    tags = sorted({*(data.get("tags") or ()), "image-classification", "timm"})
    metadata = ModelCardData(**{**data, "tags": tags}).to_yaml()
    if coded:
        sentence = (
            "A coded ResNeXt: in its coded blocks every class works through its own set of branches, "
            "so that the network of a few classes can be cut out without training."
        )
    else:
        sentence = "A plain ResNeXt, the twin of a coded one."
    if config.is_cut:
        sentence += " This one has been cut to some of the classes that it was trained on."
    return TEMPLATE.format(
        data=metadata,
        title=config.architecture,
        sentence=sentence,
        parameters=parameters,
        classes="1 class from the rest" if config.num_classes == 1 else f"{config.num_classes} classes",
        where=repo_id,
        example=repr(config.class_names[0]) if config.class_names else "0",
        blocks=_blocks_table(config),
        names=f"\nClasses: {', '.join(config.class_names)}.\n" if config.class_names else "",
    )


def _blocks_table(config: NetworkConfig) -> str:
    rows = [
        f"| `{name}` | {block.active}/{block.num_branches} | {len(block.branches)} | "
        + (str(config.codes[block.code].min_distance) if config.codes and block.code is not None else "")
        + " |"
        for name, block in config.coded_blocks()
    ]
    if not rows:
        return ""
    head = "\n| coded block | active / branches | branches present | distance between words |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"
