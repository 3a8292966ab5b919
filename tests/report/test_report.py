"""`codednet report`: everything on one page, every number from a record, nothing stale and nothing fatal."""

import base64
import csv
import io
import json
import re
import shutil
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn import metrics

from codednet.cli.main import main
from codednet.experiments import NAMES, Against, Subject, find, run_experiments
from codednet.experiments.early import EXPERIMENT as EARLY
from codednet.report.compose import Request, compose
from codednet.report.drawing import look_up
from codednet.report.markdown import write_markdown
from codednet.report.page import write_html
from codednet.runs import open_run


class Sources(HTMLParser):
    """Text of every element that says where its number comes from."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self._file, self._open = "", ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        source = given.get("data-source", "")
        if tag == "table":
            self._file = source
        elif source:
            self._open = source if not source.startswith("#") else f"{self._file}{source}"

    def handle_data(self, text):
        if self._open:
            self.found.append((self._open, text.strip()))
            self._open = ""


def value_of(text: str) -> float:
    """The number that a page writes, shares as shares."""
    number = float(re.sub(r"[^0-9.e+-]", "", text.replace("—", "nan").split(" ")[0]))
    return number / 100 if "%" in text or "points" in text else number


def test_every_section_is_measured_and_on_the_page(made):
    assert list(made.sections) == list(NAMES)
    # The certificate has measured what it builds on.
    states = {name: "unchanged" if name in ("removal", "detectors") else "measured" for name in NAMES}
    assert {name: said["state"] for name, said in made.sections.items()} == states
    text = made.page.read_text()
    assert all(f'<section id="{name}"' in text for name in NAMES)
    assert "This failed" not in text
    assert "Not measured" not in text
    assert made.page == made.folder.path / "report" / "index.html"


def test_every_number_with_a_source_is_that_of_its_record(made):
    sources = Sources(made.page.read_text())
    assert len(sources.found) > 100
    assert {source.split("#")[0] for source, _ in sources.found} >= {
        f"results/{name}.json" for name in ("accuracy", "early", "detectors", "exits", "calibration", "removal")
    }
    for source, text in sources.found:
        file, pointer = source.split("#")
        value = look_up(json.loads((made.folder.path / file).read_text()), pointer)
        if " million" in text or " s" in text or " ms" in text or "µs" in text or " min" in text:
            continue  # in another unit
        assert value_of(text) == pytest.approx(value, rel=6e-3, abs=6e-4), (source, text, value)


def test_three_numbers_are_what_the_network_says(made):
    subject = Subject(made.folder, device="cpu")
    model, batches = subject.model, list(subject.loader("test"))
    images, labels = torch.cat([one.images for one in batches]), torch.cat([one.labels for one in batches])
    with torch.no_grad():
        logits = model(images)
        energies = model.trace(images).energies
        alone = torch.cat([__import__("codednet").extract(model, [label])(images) for label in range(10)], 1)

    def shown(pointer: str) -> set[str]:
        return {text for source, text in Sources(made.page.read_text()).found if source.endswith(pointer)}

    accuracy = metrics.accuracy_score(labels, logits.argmax(1))
    assert f"{accuracy:.1%}" in shown("accuracy.json#/record/accuracy/mean")
    words = torch.as_tensor(model.codes[-1].words.copy()).double()
    scaled = energies[-1].double() * model.codes[-1].rate
    early = metrics.accuracy_score(labels, torch.cdist(scaled, words).argmin(1))
    assert f"{early:.1%}" in shown(f"early.json#/record/decoders/{len(energies) - 1}/accuracy")
    record = json.loads((made.folder.results / "detectors.json").read_text())["record"]
    ours = record["families"]["extracted"]["detectors"]
    for label, one in enumerate(ours):
        expected = metrics.average_precision_score(labels == label, alone[:, label])
        assert one["in_distribution"]["average_precision"] == pytest.approx(expected, abs=1e-6)
        f1 = metrics.f1_score(labels == label, alone[:, label] >= one["threshold"])
        assert one["in_distribution"]["f1"] == pytest.approx(f1)


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(made):
    text, ids = made.page.read_text(), Sources(made.page.read_text()).ids
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    for used in re.findall(r'aria-labelledby="([^"]+)"', text):
        assert set(used.split()) <= set(ids)


def test_every_figure_has_its_data_to_download(made):
    text = made.page.read_text()
    figures = re.findall(r"<figure.*?</figure>", text, flags=re.DOTALL)
    assert len(figures) >= 15
    for figure in figures:
        addresses = re.findall(r'download="([^"]+)" href="data:text/csv;base64,([^"]+)"', figure)
        assert addresses
        for name, data in addresses:
            head, *rows = csv.reader(io.StringIO(base64.b64decode(data).decode()))
            assert name.endswith(".csv")
            assert len(head) > 1
            assert rows
            assert {len(row) for row in rows} == {len(head)}


def test_a_second_report_reads_what_is_there_in_seconds_and_says_the_same(made, make_report):
    before = made.page.read_text()
    started = time.monotonic()
    said = make_report([*made.arguments, "-o", str(made.page.with_name("again.html"))])
    assert time.monotonic() - started < 20
    assert {one["state"] for one in said["sections"].values()} == {"unchanged"}
    # The footer holds the command, which does not say where the page goes.
    assert made.page.with_name("again.html").read_text() == before
    made.page.with_name("again.html").unlink()


def test_after_the_weights_change_nothing_stale_is_shown(made, tmp_path, capsys):
    run = Path(shutil.copytree(made.folder.path, tmp_path / "run"))
    file = run / "model" / "model.safetensors"
    weights = load_file(file)
    draw = torch.Generator().manual_seed(0)
    changed = {k: torch.randn(v.shape, generator=draw) if k.endswith("conv3.weight") else v for k, v in weights.items()}
    save_file(changed, file, {"format": "pt"})
    only = ["--only", "early", "agreement", "codes"]
    assert main(["report", str(run), *only, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {one["state"] for one in said["sections"].values()} == {"measured"}
    shown = [text for source, text in Sources(Path(said["page"]).read_text()).found if "early.json" in source]
    record = EARLY.measure(Subject(open_run(run), device="cpu"), EARLY.options())
    assert f"{record.decoders[-1].accuracy:.1%}" in shown
    assert main(["report", str(run), *only, "--json"]) == 0
    assert {one["state"] for one in json.loads(capsys.readouterr().out)["sections"].values()} == {"unchanged"}


def test_what_a_run_lacks_is_said_with_the_command_that_makes_it(made, tmp_path, capsys):
    run = Path(shutil.copytree(made.folder.path, tmp_path / "run", ignore=shutil.ignore_patterns("results", "report")))
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("tune: 0.35", "tune: 0.0"))
    only = ["early", "exits", "guided", "joint", "strangers", "ablations", "accuracy", "calibration"]
    assert main(["report", str(run), "--against", "--only", *only, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    states = {name: one["state"] for name, one in said["sections"].items()}
    assert {name for name, state in states.items() if state == "missing"} == {
        "exits", "guided", "joint", "strangers", "ablations",
    }  # fmt: skip
    assert "failed" not in states.values()
    text = Path(said["page"]).read_text()
    for name, section in said["sections"].items():
        if section["state"] == "missing":
            part = text[text.index(f'<section id="{name}"') :]
            part = part[: part.index("</section>")]
            assert "Not measured." in part
            assert section["command"].replace("'", "&#39;") in part


def test_a_plain_run_has_a_report_too(twin_run, tmp_path, capsys):
    run = shutil.copytree(twin_run, tmp_path / "plain", ignore=shutil.ignore_patterns("checkpoints"))
    only = ["certificate", "accuracy", "evaluate", "early", "codes", "detectors"]
    assert main(["report", str(run), "--only", *only, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["sections"]
    assert {name: one["state"] for name, one in said.items()} == {
        "certificate": "measured",
        "accuracy": "measured",
        "evaluate": "measured",
        "early": "missing",
        "codes": "missing",
        "detectors": "missing",
    }
    assert "--model.coded=true" in said["early"]["command"]


def test_one_failure_is_reported_in_its_place_and_is_not_fatal(finished_run, tmp_path, monkeypatch):
    run = open_run(shutil.copytree(finished_run, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoints")))

    def breaks(_subject, _options):
        raise RuntimeError("the <disk> is on fire")

    module = __import__("codednet.experiments.agreement", fromlist=["EXPERIMENT"])
    broken = module.EXPERIMENT.__class__(**{**vars(module.EXPERIMENT), "measure": breaks})
    subject = Subject(run, device="cpu")
    outcomes = run_experiments(subject, [find("early"), broken, find("codes")])
    page = compose(Request(run=str(run.path)), subject, outcomes)
    text = write_html(page)
    assert "RuntimeError: the &lt;disk&gt; is on fire" in text
    assert f"codednet report {run.path} --only agreement" in text
    assert 'id="early-depth"' in text
    assert 'id="codes"' in text
    assert "RuntimeError: the \\<disk\\> is on fire" in write_markdown(page)


def test_markdown_holds_the_numbers_of_the_page(made, make_report, tmp_path):
    make_report([*made.arguments, "--format", "md", "-o", str(tmp_path / "report.md")])
    text = (tmp_path / "report.md").read_text()
    for name in NAMES:
        assert f"## {find(name).title}" in text
    for source, shown in Sources(made.page.read_text()).found:
        if "/early.json" in source or "/accuracy.json" in source:
            assert shown in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
    assert "<svg" not in text


def test_the_report_leaves_the_run_as_it_was(made, finished_run):
    def files(folder: Path) -> dict[str, bytes]:
        kept = ("config.yaml", "environment.json", "metrics.csv", "model/config.json", "model/model.safetensors")
        return {name: (folder / name).read_bytes() for name in kept}

    assert files(made.folder.path) == files(finished_run)
    assert not [path for path in made.folder.path.rglob("*") if path.name.startswith(".")]


def test_names_of_classes_cannot_break_the_page(finished_run, tmp_path):
    run = Path(shutil.copytree(finished_run, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoints")))
    subject = Subject(open_run(run), against=[Against(name="<b>$x$&")], device="cpu")
    outcomes = run_experiments(subject, [find("early")])
    page = compose(Request(run='a"><script>', against=("<b>$x$&",)), subject, outcomes)
    assert "<script" not in write_html(page)
    assert "<b>" not in write_html(page)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere"),
        (["RUN", "--only", "erly"], "no experiment is called 'erly': did you mean 'early'?"),
        (["RUN", "--sweep", "nowhere"], "'nowhere' is no folder. `codednet sweep RECIPE --set key=a,b,c` makes one."),
        (["RUN", "--json", "-o", "-"], "--json and -o - both want standard output: give -o a file."),
        (["RUN", "--format", "pdf"], "pdf"),
    ],
)
def test_wrong_arguments_are_one_sentence(finished_run, capsys, arguments, message):
    assert main(["report", *[str(finished_run) if one == "RUN" else one for one in arguments]]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""
    assert "Traceback" not in said.err
