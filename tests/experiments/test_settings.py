"""Settings of trainings: the fields of their configs that differ, matter and mean something, as a user types them."""

from dataclasses import replace

import pytest

from codednet.experiments.settings import Trained, differences


@pytest.fixture
def trained(subject) -> Trained:
    return Trained(subject.folder.config(), subject.model.config)


def other(run: Trained, owner: str, **values) -> Trained:
    """A training of the same network by a config with these values."""
    part = replace(getattr(run.config, owner), **values)
    return run._replace(config=replace(run.config, **{owner: part}))


def test_where_data_lies_and_what_a_machine_is_like_are_no_settings_but_precision_is(trained):
    elsewhere = other(trained, "data", root="elsewhere", workers=7)
    faster = other(elsewhere, "machine", threads=9, device="cuda")
    assert differences([trained, faster]) == ({}, {})
    half = other(trained, "machine", precision="bf16")
    assert differences([trained, half]) == ({"machine.precision": "float32"}, {"machine.precision": "bf16"})


def test_values_are_written_as_a_command_line_takes_them(trained):
    one = other(other(trained, "optim", nesterov=False, bn_batch=4), "coding", mu=0.5)
    usual, changed = differences([trained, one])
    assert usual == {"coding.mu": 6.0, "optim.nesterov": "true", "optim.bn_batch": "null"}
    assert changed == {"coding.mu": 0.5, "optim.nesterov": "false", "optim.bn_batch": 4}


def test_the_same_branches_spelled_out_are_no_other_setting(trained):
    assert differences([trained, other(trained, "model", active=(10, 5, 3))]) == ({}, {})


def test_what_means_nothing_in_a_plain_run_tells_no_two_of_them_apart(trained):
    plain = other(trained, "model", coded=False)
    loud = other(plain, "coding", mu=2.0)
    assert differences([plain, loud]) == ({}, {})
    assert differences([trained, plain, loud]) == (
        {"model.coded": "true"},
        {"model.coded": "false"},
        {"model.coded": "false"},
    )
    assert differences([trained, other(trained, "coding", mu=2.0), plain])[2]["coding.mu"] is None
