import numpy as np
import pytest
import torch

from codednet import Code, CodednetError
from codednet.models import VARIANTS, create_model
from codednet.models.config import capacity

NAME = "coded_resnext20_10x4d"


def shifted(code: Code) -> Code:
    return Code(np.roll(code.words, 1, axis=1))


def test_blocks_of_the_same_numbers_share_one_code() -> None:
    model = create_model("coded_resnext50_32x4d")
    assert model.coded_blocks == [f"layer3.{i}" for i in range(6)] + [f"layer4.{i}" for i in range(3)]
    assert len({id(code) for code in model.codes}) == 2
    assert [code.rate for code in model.codes] == [1 / 2] * 6 + [1 / 4] * 3


@pytest.mark.parametrize("name", VARIANTS)
def test_codes_are_as_even_as_can_be_and_held_as_words(name: str) -> None:
    model = create_model(name)
    for code, words, (_, block) in zip(model.codes, model.words, model.config.coded_blocks(), strict=True):
        assert (code.num_classes, code.num_branches, code.active) == (
            model.num_classes,
            block.num_branches,
            block.active,
        )
        assert code.spread <= 1
        assert torch.equal(words, torch.tensor(code.words))
    assert not any("words" in key for key in model.state_dict())


def test_active_is_given_by_stage_or_by_block() -> None:
    by_stage = create_model(NAME, active=[5, 10, 3])
    assert by_stage.coded_blocks == ["layer1.0", "layer1.1", "layer3.0", "layer3.1"]
    by_block = create_model(NAME, active=[10, 5, 10, 5, 3, 10])
    assert by_block.coded_blocks == ["layer1.1", "layer2.1", "layer3.0"]
    by_name = create_model(NAME, active={"layer3": 10, "layer3.1": 4})
    assert by_name.coded_blocks == ["layer2.0", "layer2.1", "layer3.1"]
    assert [code.active for code in by_name.codes] == [5, 5, 4]
    logits, energies = by_stage.trace(torch.randn(2, 3, 16, 16))
    assert logits.shape == (2, 10)
    assert len(energies) == 4


def test_codes_are_given_by_stage_by_block_or_by_coded_block() -> None:
    default = create_model(NAME).codes
    five, three = shifted(default[0]), shifted(default[2])
    assert create_model(NAME, codes=[None, five, three]).codes == [five, five, three, three]
    assert create_model(NAME, codes=[five, default[0], three, default[2]]).codes == [
        five,
        default[0],
        three,
        default[2],
    ]
    assert create_model(NAME, codes={"layer2": default[0], "layer2.1": five}).codes[:2] == [default[0], five]
    assert create_model(NAME, codes={"layer2.1": five}).codes == [five, five, default[2], default[2]]
    assert create_model(NAME, codes={"layer3": torch.tensor(three.words)}).codes[2:] == [three, three]


def test_a_given_code_says_how_many_branches_are_active() -> None:
    seven = create_model(NAME, active=[10, 7, 3]).codes[0]
    model = create_model(NAME, codes={"layer1": seven})
    assert model.coded_blocks[:2] == ["layer1.0", "layer1.1"]
    with pytest.raises(CodednetError, match=r"10 branches of which 4 are active; its code has .* with 7 ones"):
        create_model(NAME, active=[4, 5, 3], codes={"layer1": seven})


def test_codes_that_may_mean_two_things_are_refused() -> None:
    active = {"layer1": 10, "layer2": 10, "layer2.1": 5, "layer3": 5}
    codes = create_model(NAME, active=active).codes
    with pytest.raises(CodednetError, match="3 codes may mean the 3 stages or the 3 coded blocks: name them"):
        create_model(NAME, active=active, codes=[codes[0], codes[1], shifted(codes[2])])
    named = {"layer2.1": codes[0], "layer3.0": codes[1], "layer3.1": shifted(codes[2])}
    assert create_model(NAME, active=active, codes=named).codes[2] == shifted(codes[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"active": [5, 3]}, "active must be given for each of the 3 stages or each of the 6 blocks"),
        ({"active": {"layer4": 3}}, "active names 'layer4', which is no stage or block"),
        ({"active": [10, 5, 11]}, "1 to 10 active branches, as many as it has branches; got 11"),
        ({"actve": [10, 5, 3]}, "no option 'actve': did you mean 'active'?"),
        ({"shortcut": "none"}, "shortcut must be 'projection' or 'free'; got 'none'"),
        ({"drop_branch": 1.0}, "drop_branch is a probability below 1; got 1.0"),
        ({"codes": {"layer3": np.eye(10, dtype=int)[:, :9]}}, "word 9 has 0"),
        ({"codes": {"layer3": np.eye(9, dtype=int)}}, "10 branches .* words of length 9"),
        ({"codes": {"layer3": np.eye(10, dtype=int)[:5]}}, "a word for each of the 10 classes; it has 5 words"),
        ({"class_names": ["cat", "dog"]}, "class_names must name each of the 10 classes; got 2 names"),
        ({"in_chans": 0}, "1 or more image channels; got .*in_chans=0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict, message: str) -> None:
    with pytest.raises(CodednetError, match=message):
        create_model(NAME, num_classes=10, **options)


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(CodednetError, match="no model is called 'coded_resnext29_10x11': did you mean 'coded_res"):
        create_model("coded_resnext29_10x11")


def test_the_plain_twin_has_no_codes_to_choose() -> None:
    with pytest.raises(CodednetError, match="resnext20_10x4d is the plain twin, without codes: use coded_resnext20"):
        create_model("resnext20_10x4d", active=[10, 5, 3])


def test_more_classes_than_words_are_refused_with_advice_that_works() -> None:
    with pytest.raises(CodednetError, match=r"121 classes .* only 120 words of length 10 have 3 ones: use (\w+), or"):
        create_model(NAME, num_classes=121)
    fits = "coded_resnext29_20x6d"
    with pytest.raises(CodednetError, match=f"use {fits}, or at most 120 classes"):
        create_model(NAME, num_classes=121)
    assert create_model(fits, num_classes=121).codes[0].num_classes == 121
    assert create_model(NAME, num_classes=120).codes[-1].num_classes == 120
    with pytest.raises(CodednetError, match=r"4846 classes .* use coded_resnext50_32x4d"):
        create_model(fits, num_classes=4846)


def test_capacity_is_that_of_the_tightest_block() -> None:
    assert capacity(create_model("coded_resnext29_20x6d").config.stages) == 4845
    assert capacity(create_model("resnext29_20x6d").config.stages) is None


def test_classes_come_from_their_names() -> None:
    model = create_model(NAME, class_names=["cat", "dog", "owl"])
    assert model.num_classes == 3
    assert model.config.class_names == ("cat", "dog", "owl")
    assert model.codes[0].num_classes == 3


def test_reset_classifier_assigns_codes(images) -> None:
    model = create_model(NAME)
    before = model.codes
    model.reset_classifier(10)
    assert model.codes == before
    model.reset_classifier(33)
    assert model(images).shape == (3, 33)
    assert [code.num_classes for code in model.codes] == [33] * 4
    assert [words.shape for words in model.words] == [(33, 10)] * 4
    with pytest.raises(CodednetError, match="only 120 words"):
        model.reset_classifier(121)
    model.reset_classifier(0)
    assert [code.num_classes for code in model.codes] == [33] * 4
    model.reset_classifier(2, class_names=["cat", "dog"])
    assert model.config.class_names == ("cat", "dog")


def test_a_network_without_classes_has_no_codes_but_all_else(images) -> None:
    model = create_model(NAME, num_classes=0)
    assert model.codes == []
    assert model.words == []
    logits, energies = model.trace(images)
    assert logits.shape == (3, 256)
    assert len(energies) == 4
    model.train()(images)
    model.reset_classifier(4)
    assert model.codes[0].num_classes == 4
