"""The file in docs/training.md that adds the coding loss to a script of timm's."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "training.md"
# A training script as timm's are: built by name, a loss that knows logits and labels, validated without gradients.
SCRIPT = """
import json
import sys

import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.task import ClassificationTask

import codednet

model = timm.create_model(sys.argv[1], num_classes=10).train()
model.drop_branch.p = 0.0
images, labels = torch.randn(4, 3, 32, 32), torch.arange(4)
task = ClassificationTask(model, LabelSmoothingCrossEntropy(0.1), verbose=False)
trained = task(images, labels)["loss"]
trained.backward()
moved = all(p.grad is not None for p in model.parameters())
bare = torch.nn.CrossEntropyLoss()(model(images), labels)
trace = model.trace(images)
wanted = codednet.total_loss(trace, labels, model.codes, mu=6.0, label_smoothing=0.1)
also = codednet.total_loss(trace, labels, model.codes, mu=6.0)
model.eval()
with torch.no_grad():
    logits = model(images)
    validated, plain = torch.nn.CrossEntropyLoss()(logits, labels), torch.nn.functional.cross_entropy(logits, labels)
print(json.dumps([float(x) for x in (trained, wanted, bare, also, validated, plain)] + [moved]))
"""


@pytest.mark.slow
def test_a_script_of_timm_s_trains_by_the_total_loss_and_validates_by_its_own(tmp_path):
    (block,) = (code for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "runpy" in code)
    (tmp_path / "coded_timm.py").write_text(block)
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "coded_timm.py", "train.py", "coded_resnext20_10x4d"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    trained, wanted, bare, also, validated, plain, moved = json.loads(done.stdout)
    assert trained == pytest.approx(wanted, rel=1e-4)
    assert bare == pytest.approx(also, rel=1e-4)
    assert validated == pytest.approx(plain, rel=1e-6)
    assert moved
