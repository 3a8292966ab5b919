import dataclasses

import pytest

from codednet.errors import CodednetError
from codednet.runs.config import OptimConfig, RunConfig
from codednet.training import load_recipe
from codednet.training.pace import measure_pace, shortened
from codednet.training.schedule import learning_rate


def test_a_shortened_recipe_takes_the_same_way_in_less_time():
    optim = OptimConfig(epochs=20, warmup_epochs=3, cooldown_epochs=4, learning_rate=0.5)
    short = shortened(RunConfig(optim=optim), 5).optim
    assert short.epochs == 5
    for share in (0, 0.1, 0.15, 0.5, 0.8, 0.9, 1):
        assert learning_rate(short, 5 * share) == pytest.approx(learning_rate(optim, 20 * share))


def test_nothing_else_changes_and_all_its_epochs_are_the_recipe_itself():
    recipe = load_recipe("fashion-mini")
    assert shortened(recipe, recipe.optim.epochs) == recipe
    assert dataclasses.replace(shortened(recipe, 1), optim=recipe.optim) == recipe


@pytest.mark.parametrize("epochs", [0, 11])
def test_a_recipe_cannot_become_longer_or_nothing(epochs):
    with pytest.raises(CodednetError, match=f"10 epochs can be shortened to 1 to 10; got {epochs}"):
        shortened(load_recipe("fashion-mini"), epochs)


def test_the_pace_of_coded_and_plain_training_is_measured_in_about_the_time_given():
    for coded in (True, False):
        recipe = load_recipe("fashion-mini")
        recipe = dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, coded=coded))
        assert 1 < measure_pace(recipe, seconds=0.1) < 1e6
