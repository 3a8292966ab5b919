import pytest

from codednet.models import TWINS, VARIANTS, CodedResNeXt, create_model
from codednet.models.sizes import class_path_sizes, network_size, parameters_by_stage


@pytest.mark.parametrize(
    ("name", "stages", "total"),
    [
        ("coded_resnext29_10x11d", [1_856, 200_262, 888_008, 3_538_560, 10_240], 4_638_926),
        ("coded_resnext29_20x6d", [1_856, 200_592, 891_648, 3_552_640, 102_400], 4_749_136),
        ("coded_resnext50_32x4d", [9_536, 205_824, 1_197_056, 7_022_592, 14_544_896, 2_049_000], 25_028_904),
    ],
)
@pytest.mark.parametrize("twin", [False, True])
def test_parameters_are_those_of_table_1(name: str, stages: list[int], total: int, twin: bool) -> None:
    counts = parameters_by_stage(create_model(name.removeprefix("coded_") if twin else name))
    assert list(counts.values()) == stages
    assert sum(counts.values()) == total


@pytest.mark.parametrize(("name", "millions"), [("coded_resnext20_10x6d", 0.89), ("coded_resnext20_10x4d", 0.30)])
def test_small_variants_are_as_small_as_stated(name: str, millions: float) -> None:
    assert round(sum(parameters_by_stage(create_model(name)).values()) / 1e6, 2) == millions


@pytest.mark.parametrize(
    ("name", "projection", "free"),
    [
        ("coded_resnext29_10x11d", 46.3, 37.2),
        ("coded_resnext29_20x6d", 37.4, 27.1),
        ("coded_resnext50_32x4d", 41.6, 34.3),
    ],
)
def test_one_class_network_keeps_the_stated_share_of_parameters(name: str, projection: float, free: float) -> None:
    for shortcut, share in (("projection", projection), ("free", free)):
        full = create_model(name, shortcut=shortcut)
        path = CodedResNeXt(full.config.narrowed([7]))
        assert round(100 * _parameters(path) / _parameters(full), 1) == share


def test_class_paths_are_counted_on_their_modules() -> None:
    config = create_model("coded_resnext20_10x4d").config
    path = next(class_path_sizes(config, 28))
    assert path == network_size(config.narrowed([0]), 28)
    assert path.parameters == _parameters(CodedResNeXt(config.narrowed([0])))


@pytest.mark.parametrize(("name", "kept"), [("coded_resnext29_10x11d", 61.7), ("coded_resnext29_20x6d", 55.1)])
def test_multiply_adds_fall_less_than_parameters(name: str, kept: float) -> None:
    config = create_model(name).config
    full, path = network_size(config, 32), next(class_path_sizes(config, 32))
    assert round(100 * path.multiply_adds / full.multiply_adds, 1) == kept


def test_reading_energies_adds_about_one_percent_of_multiply_adds() -> None:
    coded = network_size(create_model("coded_resnext29_10x11d").config, 32).multiply_adds
    plain = network_size(create_model("resnext29_10x11d").config, 32).multiply_adds
    assert plain < coded < 1.015 * plain


def test_every_variant_has_a_plain_twin() -> None:
    assert sorted(TWINS.values()) == sorted(VARIANTS)
    for twin in TWINS:
        model = create_model(twin)
        assert model.coded_blocks == []
        assert model.codes == []


def _parameters(model: CodedResNeXt) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
