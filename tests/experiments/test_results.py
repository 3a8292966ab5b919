import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from codednet.cli.main import COMMANDS
from codednet.errors import CodednetError
from codednet.experiments import NAMES, Against, Subject, find, result
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.results import MissingError, csv_text, missing
from codednet.runs import open_run

EARLY, ACCURACY, EVALUATE = find("early"), find("accuracy"), find("evaluate")


@dataclass(frozen=True, kw_only=True)
class Count:
    """A record that says how often it was measured."""

    times: int
    wide: bool = False


def counting(**changes) -> Experiment:
    """An experiment whose records tell a measurement from a reading."""
    calls = []

    def measure(_subject, _options):
        calls.append(1)
        return Count(times=len(calls))

    def tables(record):
        return (Table(name="", title="", columns=("times",), rows=((record.times,),)),)

    fields = {"name": "count", "title": "Count", "version": 1, "record": Count, "measure": measure, "tables": tables}
    return Experiment(**fields | changes)


def opened(run, **options) -> Subject:
    return Subject(run, device="cpu", **options)


@pytest.fixture
def pictures_of(pictures, tmp_path, run):
    """Pictures that the run's config names and that a test may change."""
    import shutil

    root = Path(shutil.copytree(pictures, tmp_path / "pictures"))
    text = run.config_file.read_text()
    assert str(pictures) in text
    run.config_file.write_text(text.replace(str(pictures), str(root)))
    return root


def mark(folder) -> dict[str, int]:
    """When each file of the results was written."""
    return {file.name: file.stat().st_mtime_ns for file in folder.results.iterdir()}


def test_unchanged_run_is_read_and_not_measured(run):
    counted = counting()
    first = result(counted, opened(run))
    written = mark(run)
    second = result(counted, opened(run))
    assert (first.cached, second.cached) == (False, True)
    assert second.record == first.record == Count(times=1)
    assert second.document == first.document
    assert mark(run) == written


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ablations"])
def test_every_experiment_is_read_the_second_time(name, results, subject):
    first = results(name)
    again = Subject(subject.folder, baseline=subject.baseline, against=subject.against, device="cpu")
    written = mark(subject.folder)[f"{first.file}.json"]
    found = find(name)
    second = result(found, again, type(_options(found, first))(**_options(found, first).__dict__))
    assert second.cached
    assert second.record == first.record
    assert second.document == json.loads(json.dumps(first.document))
    assert mark(subject.folder)[f"{first.file}.json"] == written


def _options(experiment, found):
    from codednet.experiments.documents import from_document

    return from_document(experiment.options, found.document["key"]["options"])


def test_fresh_measures_what_is_there(run):
    counted = counting()
    result(counted, opened(run))
    again = result(counted, opened(run), fresh=True)
    assert (again.cached, again.record.times) == (False, 2)
    assert result(counted, opened(run)).record.times == 2


def test_other_weights_are_measured_anew_and_said(run):
    before = result(EARLY, opened(run)).record
    file = run.model / "model.safetensors"
    weights = load_file(file)
    draw = torch.Generator().manual_seed(0)
    save_file(
        {key: torch.randn(v.shape, generator=draw) if "conv" in key else v for key, v in weights.items()},
        file,
        {"format": "pt"},
    )
    after = result(EARLY, opened(run))
    assert not after.cached
    assert after.record != before
    assert after.record == EARLY.measure(opened(run), NoOptions())


def test_other_words_are_measured_anew(run):
    import codednet
    from codednet.experiments.controls import shuffled

    before = result(EARLY, opened(run)).record
    codednet.save(shuffled(run.load_model()), run.model)
    after = result(EARLY, opened(run))
    assert not after.cached
    assert after.record.decoders != before.decoders
    assert after.record.accuracy == before.accuracy


def test_what_a_record_says_of_the_config_is_never_stale(run):
    assert result(ACCURACY, opened(run)).record.mu == 6
    run.config_file.write_text(run.config_file.read_text().replace("mu: 6.0", "mu: 2.0"))
    found = result(ACCURACY, opened(run))
    assert (found.cached, found.record.mu) == (False, 2)


def change(root):
    file = root / "test" / "class3" / "1.png"
    Image.new("RGB", (20, 20), (1, 2, 3)).save(file)


def change_of_the_same_size(root):
    file = root / "test" / "class3" / "1.png"
    other = (root / "test" / "class8" / "1.png").read_bytes()
    size = file.stat().st_size
    file.write_bytes(other[:size].ljust(size, b"\0"))


def change_to_train_on(root):
    Image.new("RGB", (20, 20), (1, 2, 3)).save(root / "train" / "class3" / "1.png")


def add(root):
    Image.new("RGB", (20, 20), (1, 2, 3)).save(root / "test" / "class3" / "9.png")


def remove(root):
    (root / "test" / "class3" / "1.png").unlink()


def rename(root):
    (root / "test" / "class3" / "1.png").rename(root / "test" / "class3" / "11.png")


@pytest.mark.parametrize("edit", [change, change_of_the_same_size, change_to_train_on, add, remove, rename])
def test_other_pictures_are_measured_anew(run, pictures_of, edit):
    counted = counting()
    result(counted, opened(run))
    edit(pictures_of)
    assert result(counted, opened(run)).record.times == 2


def test_accuracy_follows_the_pictures(run, pictures_of):
    assert result(EVALUATE, opened(run)).record.images == 40
    remove(pictures_of)
    found = result(EVALUATE, opened(run)).record
    assert (found.images, found.classes[3].images) == (39, 3)


def test_the_same_pictures_elsewhere_are_the_same(run, pictures_of, pictures):
    counted = counting()
    result(counted, opened(run))
    assert result(counted, opened(run, root=str(pictures))).cached


def test_large_files_are_known_by_name_and_size(run, pictures_of, monkeypatch):
    monkeypatch.setattr("codednet.experiments.digests.READ", 1000)
    counted = counting()
    result(counted, opened(run))
    change_of_the_same_size(pictures_of)
    assert result(counted, opened(run)).cached
    add(pictures_of)
    assert not result(counted, opened(run)).cached


@pytest.mark.parametrize("spoil", ["rename", "add"])
def test_data_of_other_classes_is_refused(run, pictures_of, spoil):
    import shutil

    for split in ("train", "test"):
        folder = pictures_of / split / "class0"
        if spoil == "rename":
            folder.rename(pictures_of / split / "zebra")
        else:
            shutil.copytree(folder, pictures_of / split / "zebra")
    with pytest.raises(CodednetError, match=r"must have the classes that .* was trained on: 10 \(class0, .*--root"):
        result(EVALUATE, opened(run))


def test_each_choice_of_options_has_a_result_of_its_own(run):
    removal = find("removal")
    one, two = removal.options(images=10), removal.options(images=20)
    files = {result(removal, opened(run), options).file for options in (one, two)}
    assert len(files) == 2
    assert result(removal, opened(run), one).record.sample.images == 10
    assert result(removal, opened(run), two).record.sample.images == 20


def test_options_in_one_file_are_told_apart_by_the_key(run):
    @dataclass(frozen=True, kw_only=True)
    class Options:
        size: int = 1

    counted = counting(options=Options, variant=lambda options: "same")
    result(counted, opened(run), Options(size=1))
    assert result(counted, opened(run), Options(size=2)).record.times == 2
    assert result(counted, opened(run), Options(size=1)).record.times == 3


def test_splits_are_measured_and_kept_apart(run):
    test, tune = (result(EVALUATE, opened(run), EVALUATE.options(split=split)) for split in ("test", "tune"))
    assert (test.file, tune.file) == ("evaluate-test", "evaluate-tune")
    assert (test.record.images, tune.record.images) == (40, 40)
    assert result(EVALUATE, opened(run)).record == test.record


def test_a_new_version_is_measured_anew(run):
    counted = counting()
    result(counted, opened(run))
    assert result(replace(counted, version=2), opened(run)).record.times == 2


def test_a_new_version_of_what_it_builds_on_is_measured_anew(run, monkeypatch):
    counted = counting(builds_on=("removal",))
    result(counted, opened(run))
    assert result(counted, opened(run)).cached
    monkeypatch.setattr("codednet.experiments.removal.EXPERIMENT", replace(find("removal"), version=99))
    assert result(counted, opened(run)).record.times == 2


def test_certificate_builds_on_what_it_reads():
    assert set(find("certificate").builds_on) == {"removal", "detectors"}


def test_another_twin_is_measured_anew(run, twin):
    import codednet

    def measured():
        return result(ACCURACY, opened(run, baseline=twin))

    before, again = measured(), measured()
    assert (before.cached, again.cached) == (False, True)
    model = twin.load_model()
    torch.nn.init.normal_(model.fc.weight, generator=torch.Generator().manual_seed(1))
    codednet.save(model, twin.model)
    after = measured()
    assert not after.cached
    assert after.record.twin != before.record.twin
    assert after.record.accuracy == before.record.accuracy


def test_other_pictures_of_the_twin_are_measured_anew(run, twin, pictures, tmp_path):
    import shutil

    root = Path(shutil.copytree(pictures, tmp_path / "elsewhere"))
    twin.config_file.write_text(twin.config_file.read_text().replace(str(pictures), str(root)))
    counted = counting(uses=frozenset({"baseline"}))
    result(counted, opened(run, baseline=twin))
    assert result(counted, opened(run, baseline=twin)).cached
    change(root)
    assert result(counted, opened(run, baseline=twin)).record.times == 2


def test_a_twin_given_or_taken_away_is_noticed(run, twin):
    assert result(ACCURACY, opened(run)).record.twin is None
    assert result(ACCURACY, opened(run, baseline=twin)).record.twin is not None
    assert result(ACCURACY, opened(run)).record.twin is None


def test_weights_written_while_a_subject_is_open_never_pass_for_those_it_read(run, twin):
    import codednet

    subject = opened(run, baseline=twin)
    before = result(ACCURACY, subject).record
    for folder in (run, twin):
        model = folder.load_model()
        torch.nn.init.normal_(model.fc.weight, generator=torch.Generator().manual_seed(1))
        codednet.save(model, folder.model)
    assert result(ACCURACY, subject, fresh=True).record == before
    after = result(ACCURACY, opened(run, baseline=twin))
    assert not after.cached
    assert after.record.twin.accuracy != before.twin.accuracy


def test_a_twin_without_a_network_is_said_so(run, twin):
    (twin.model / "config.json").unlink()
    (twin.model / "model.safetensors").unlink()
    with pytest.raises(CodednetError, match="has no network yet"):
        result(ACCURACY, opened(run, baseline=twin))


def test_other_images_of_no_class_are_measured_anew(run, noise, tmp_path):
    import shutil

    folder = Path(shutil.copytree(noise, tmp_path / "noise"))
    counted = counting(needs=frozenset({"against"}))

    def times(*names):
        return result(counted, opened(run, against=[Against(name=str(name)) for name in names])).record.times

    assert [times(folder), times(folder), times(folder, noise), times(folder)] == [1, 1, 2, 3]
    Image.new("RGB", (20, 20), (9, 9, 9)).save(folder / "0.png")
    assert times(folder) == 4
    (folder / "1.png").unlink()
    assert times(folder) == 5


def test_what_does_not_use_a_twin_or_strangers_is_not_measured_anew_for_them(run, twin, noise):
    counted = counting()
    result(counted, opened(run))
    assert result(counted, opened(run, baseline=twin, against=[Against(name=str(noise))])).cached


def test_times_are_of_this_machine_alone(run, monkeypatch):
    timed, untimed = counting(name="timed", timed=True), counting(name="untimed")
    for one in (timed, untimed):
        result(one, opened(run))
        assert result(one, opened(run)).cached
    monkeypatch.setattr("codednet.experiments.keys.processor", lambda: "another processor")
    assert not result(timed, opened(run)).cached
    assert result(untimed, opened(run)).cached


def test_times_are_of_so_many_threads_alone(run):
    timed = counting(timed=True)
    result(timed, opened(run))
    torch.set_num_threads(2)
    try:
        assert not result(timed, opened(run)).cached
    finally:
        torch.set_num_threads(1)


def test_experiments_that_time_say_so(results):
    timed = {name for name in NAMES if find(name).timed}
    assert timed == {"cost", "exits"}


@pytest.mark.parametrize(
    "spoilt",
    [
        "",
        "{",
        "[]",
        "null",
        "\x00",
        '{"key": 1}',
        lambda text: text[: len(text) // 2],
        lambda text: json.dumps({**json.loads(text), "record": {}}),
        lambda text: json.dumps({**json.loads(text), "record": None}),
        lambda text: json.dumps({**json.loads(text), "record": {**json.loads(text)["record"], "times": "1"}}),
        lambda text: json.dumps({name: value for name, value in json.loads(text).items() if name != "record"}),
    ],
)
def test_a_spoilt_file_is_measured_anew(run, spoilt):
    counted = counting()
    result(counted, opened(run))
    file = run.results / "count.json"
    file.write_text(spoilt(file.read_text()) if callable(spoilt) else spoilt)
    found = result(counted, opened(run))
    assert (found.cached, found.record.times) == (False, 2)
    assert result(counted, opened(run)).cached


def test_a_file_that_is_no_text_is_measured_anew(run):
    counted = counting()
    result(counted, opened(run))
    (run.results / "count.json").write_bytes(b"\xff\xfe\x00")
    assert result(counted, opened(run)).record.times == 2


def test_tables_of_before_are_removed(run, twin):
    result(ACCURACY, opened(run, baseline=twin))
    assert (run.results / "accuracy-pairs.csv").is_file()
    (run.results / "accuracy-mine.csv").write_text("a user's own")
    result(ACCURACY, opened(run))
    assert not (run.results / "accuracy-pairs.csv").exists()
    assert (run.results / "accuracy.csv").is_file()
    assert (run.results / "accuracy-mine.csv").is_file()


def test_no_file_outside_the_results_is_removed_whatever_a_document_lists(run):
    counted = counting()
    result(counted, opened(run))
    file = run.results / "count.json"
    document = json.loads(file.read_text())
    outside = run.path / "epochs.csv"
    document["tables"] = ["../epochs.csv", str(outside), "train.json", 5]
    file.write_text(json.dumps(document))
    result(counted, opened(run), fresh=True)
    assert outside.is_file()
    assert (run.results / "train.json").is_file()


def test_a_table_that_was_lost_is_written_again(run):
    counted = counting()
    result(counted, opened(run))
    (run.results / "count.csv").unlink()
    assert result(counted, opened(run)).cached
    assert (run.results / "count.csv").read_text() == "times\n1\n"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ablations"])
def test_tables_are_written_as_the_record_has_them(name, results, subject):
    found, experiment = results(name), find(name)
    tables = experiment.tables(found.record)
    files = [f"{found.file}{'-' * bool(table.name)}{table.name}.csv" for table in tables]
    assert found.document["tables"] == files
    assert len(set(files)) == len(files)
    for file, table in zip(files, tables, strict=True):
        text = (subject.folder.results / file).read_text(encoding="utf-8")
        assert text == csv_text(table)
        head, *rows = csv.reader(text.splitlines())
        assert tuple(head) == table.columns
        assert len(rows) == len(table.rows)
        assert {len(row) for row in table.rows} <= {len(table.columns)}


class StopHereError(Exception):
    pass


def interrupt(*_arguments):
    raise StopHereError


@pytest.mark.parametrize("where", ["measure", "tables"])
def test_what_fails_leaves_the_files_as_they_were(run, where):
    result(counting(), opened(run))
    before = {file.name: file.read_bytes() for file in run.results.iterdir()}
    with pytest.raises(StopHereError):
        result(counting(version=2, **{where: interrupt}), opened(run))
    assert {file.name: file.read_bytes() for file in run.results.iterdir()} == before


def test_a_record_that_is_not_of_its_own_form_is_never_written(run):
    result(counting(), opened(run))
    before = {file.name: file.read_bytes() for file in run.results.iterdir()}
    wrong = counting(version=2, measure=lambda *_: Count(times="many"))
    with pytest.raises(ValueError, match="'many' is no"):
        result(wrong, opened(run))
    assert {file.name: file.read_bytes() for file in run.results.iterdir()} == before


@pytest.mark.parametrize("write", range(1, 4))
def test_whenever_writing_ends_tables_and_record_are_of_one_measurement(run, write, monkeypatch):
    def tables(record):
        names = ("", "more")
        return tuple(Table(name=name, title="", columns=("times",), rows=((record.times,),)) for name in names)

    counted = counting(tables=tables)
    result(counted, opened(run))
    writes, replace_file = [], Path.replace

    def ends(self, target):
        writes.append(target)
        if len(writes) == write:
            raise StopHereError
        return replace_file(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", ends)
        with pytest.raises(StopHereError):
            result(counted, opened(run), fresh=True)
    found = result(counted, opened(run))
    assert found.cached
    for name in ("count.csv", "count-more.csv"):
        assert (run.results / name).read_text() == f"times\n{found.record.times}\n"
    assert not [file for file in run.results.iterdir() if file.name.startswith(".")]


def without_tune(folder):
    text = folder.config_file.read_text()
    assert "tune: 0.35" in text
    folder.config_file.write_text(text.replace("tune: 0.35", "tune: 0.0"))


@pytest.mark.parametrize("name", ["exits", "guided", "joint"])
def test_without_a_tune_split_what_is_fitted_on_it_is_missing(run, name):
    without_tune(run)
    with pytest.raises(MissingError, match=r"tune split.*--data\.tune=0\.1") as refusal:
        result(find(name), opened(run))
    assert refusal.value.missing.need == "tune"


@pytest.mark.parametrize("name", [name for name in NAMES if "coded" in find(name).needs])
def test_of_a_plain_run_what_reads_codes_is_missing(twin, name):
    with pytest.raises(MissingError, match=r"plain.*--model\.coded=true") as refusal:
        result(find(name), opened(twin))
    assert refusal.value.missing.need == "coded"


def test_without_images_of_no_class_what_is_measured_on_them_is_missing(run):
    with pytest.raises(MissingError, match="--against") as refusal:
        result(find("strangers"), opened(run))
    assert refusal.value.missing.need == "against"


@pytest.mark.parametrize("need", ["coded", "tune", "baseline", "sweep", "against"])
def test_the_command_that_makes_what_is_missing_is_one(tmp_path, twin_run, need):
    import importlib
    import shlex
    import shutil

    from codednet.cli.arguments import parse

    folder = open_run(shutil.copytree(twin_run, tmp_path / "a run's folder"))  # with letters that a shell reads
    if need == "tune":
        without_tune(folder)
    found = missing(counting(needs=frozenset({need})), opened(folder))
    assert found.need == need
    program, command, *rest = shlex.split(found.command)
    assert program == "codednet"
    module, name, _ = COMMANDS[command]
    options = parse(getattr(importlib.import_module(module), name), rest, f"codednet {command}")
    given = getattr(options, "recipe", None) or options.run
    assert Path(given).exists()
    assert not Path(getattr(options, "output", None) or "nothing").exists()


def test_the_recipes_that_missing_commands_name_are_what_they_promise(twin):
    from codednet.cli.arguments import parse
    from codednet.cli.train import TrainConfig, run_config

    def config(need):
        import shlex

        found = missing(counting(needs=frozenset({need})), opened(twin))
        return run_config(parse(TrainConfig, shlex.split(found.command)[2:], "codednet train"))

    ours = twin.config()
    assert config("coded").model.coded
    assert config("coded").data == ours.data
    assert not config("baseline").model.coded
    without_tune(twin)
    assert config("tune").data.has_tune
    assert config("tune").model == ours.model


def test_what_is_there_is_not_missing(subject, run, tmp_path):
    assert all(missing(find(name), subject) is None for name in NAMES if name != "ablations")
    assert missing(counting(needs=frozenset({"sweep"})), opened(run, sweep=tmp_path)) is None
