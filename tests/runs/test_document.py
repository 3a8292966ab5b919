"""A config is the same after a trip through YAML, and mistakes in one are named."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codednet.data import DataConfig
from codednet.errors import CodednetError
from codednet.runs.config import CodingConfig, MachineConfig, ModelConfig, OptimConfig, RunConfig
from codednet.runs.document import from_document, parse_yaml, to_yaml


@given(
    mu=st.floats(0, 100),
    rate=st.floats(1e-8, 10),
    active=st.none() | st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    root=st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1),
    coded=st.booleans(),
)
def test_yaml_round_trip(mu: float, rate: float, active, root: str | None, coded: bool) -> None:
    if root is not None and ("://" in root or root.startswith("pipe:")):
        root = "data"
    config = RunConfig(
        data=DataConfig(root=root, mean=(0.5,), std=(0.25,)),
        model=ModelConfig(active=active, coded=coded),
        coding=CodingConfig(mu=mu),
        optim=OptimConfig(learning_rate=rate),
        machine=MachineConfig(precision="bf16"),
    )
    assert from_document(RunConfig, parse_yaml(to_yaml(config), "here"), "here") == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sead: 1", "'here' has an unknown key 'sead': did you mean 'seed'"),
        ("optim: {epoch: 1}", r"unknown key 'optim\.epoch': did you mean 'epochs'"),
        ("optim: {epochs: 1.5}", r"optim\.epochs"),
        ("data: {flip: maybe}", r"data\.flip"),
        ("machine: {precision: bf17}", r"machine\.precision"),
        ("coding: {mu: -1}", "mu is a weight of 0 or more; got -1"),
        ("- 1", "here"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(CodednetError, match=message):
        from_document(RunConfig, parse_yaml(text, "'here'"), "'here'")


def test_numbers_as_people_write_them() -> None:
    found = from_document(RunConfig, parse_yaml("optim: {weight_decay: 5e-4, clip: 1}", "here"), "here")
    assert found == replace(RunConfig(), optim=OptimConfig(weight_decay=5e-4, clip=1.0))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epochs": 0}, "epochs must be 1 or more; got 0"),
        ({"batch": 10, "accumulate": 3}, "10 images cannot be divided into 3 equal parts"),
        ({"epochs": 5, "warmup_epochs": 3, "cooldown_epochs": 2}, "must leave room for the cosine"),
        ({"ema": 1.0}, "ema is a decay of 0 or more, below 1"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
    ],
)
def test_numbers_that_cannot_be_are_refused(fields, message: str) -> None:
    with pytest.raises(CodednetError, match=message):
        OptimConfig(**fields)
