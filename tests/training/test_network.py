"""The network of a config has the codes that the config asks for."""

from dataclasses import replace

import pytest

from codednet.codes import find_code
from codednet.data import Data, open_data
from codednet.runs.config import ModelConfig, RunConfig
from codednet.training.network import network_config
from codednet.training.recipes import load_recipe


@pytest.fixture(scope="module")
def data() -> Data:
    return open_data(load_recipe("fashion-mini").data)


def config(**model: object) -> RunConfig:
    recipe = load_recipe("fashion-mini")
    return replace(recipe, model=replace(recipe.model, **model))


def test_shipped_codes_are_used_unless_others_are_asked_for(data: Data) -> None:
    assert network_config(config(), data).codes == (find_code(10, 10, 5), find_code(10, 10, 3))
    assert ModelConfig().code_quality == "good"


@pytest.mark.parametrize("seed", [1, 2])
def test_other_seeds_of_good_codes_meet_the_rules(data: Data, seed: int) -> None:
    shipped, found = network_config(config(), data).codes, network_config(config(code_seed=seed), data).codes
    for one, other in zip(shipped, found, strict=True):
        assert one != other
        assert (one.min_distance, one.spread) == (other.min_distance, other.spread)


def test_poor_codes_fit_the_blocks_and_break_the_rules(data: Data) -> None:
    good = network_config(config(), data)
    found = [network_config(config(code_quality="poor", code_seed=seed), data) for seed in (0, 1)]
    assert found[0].codes != found[1].codes
    for network in found:
        assert network.stages == good.stages
        for code, rule in zip(network.codes, good.codes, strict=True):
            assert code.min_distance < rule.min_distance
            assert code.spread > rule.spread + 2


def test_the_plain_twin_has_no_codes_of_any_quality(data: Data) -> None:
    assert network_config(config(coded=False, code_quality="poor"), data).codes == ()
