"""The page in a real browser: nothing leaves it, nothing overlaps or is cut off, and it can be read without seeing."""

import itertools
import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DESKTOP, PHONE = (1280, 900), (390, 844)
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None and "CI" not in os.environ, reason="needs Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "the continuous integration must install Chromium"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def opened(browser: Browser, made) -> Iterator:
    """Opens the page in a window of a size, and closes it; whatever it says or asks for is an error."""
    said: list[str] = []
    contexts = []

    def visit(size: tuple[int, int], **options) -> Page:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: said.append(f"request: {request.url[:80]}"))
        address = made.page.as_uri()
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        page.wait_for_load_state("networkidle")
        assert said.pop(0) == f"request: {address[:80]}"
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [line for line in said if not line.startswith("request: data:")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_is_wider_than_the_window_or_empty(opened, size, scheme):
    page = opened(size, color_scheme=scheme)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= size[0]
    boxes = page.evaluate(
        "[...document.querySelectorAll('svg.panel')].map(one => { const r = one.getBoundingClientRect();"
        " return [one.querySelector('title').textContent, r.left, r.right, r.width, r.height, "
        "one.querySelectorAll('path, use, text').length]; })"
    )
    assert len(boxes) > 30
    for title, left, right, width, height, parts in boxes:
        assert 0 <= left < right <= size[0] + 1, title
        assert width >= 150, title
        assert height >= 60, title
        assert parts > 5, title


OVERLAPS = """
[...document.querySelectorAll('svg.panel')].flatMap(svg => {
  const frame = svg.getBoundingClientRect(), title = svg.querySelector('title').textContent;
  const texts = [...svg.querySelectorAll('text')].filter(one => one.textContent.trim());
  const boxes = texts.map(one => one.getBoundingClientRect());
  const found = [];
  boxes.forEach((a, i) => {
    if (a.left < frame.left - 2 || a.right > frame.right + 2 || a.top < frame.top - 2 || a.bottom > frame.bottom + 2)
      found.push(`${title}: '${texts[i].textContent.trim()}' is cut off`);
    boxes.forEach((b, j) => {
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (i < j && x > 2 && y > 3)
        found.push(`${title}: '${texts[i].textContent.trim()}' over '${texts[j].textContent.trim()}'`);
    });
  });
  return found;
})
"""


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_text_of_a_figure_is_cut_off_or_lies_on_another(opened, size):
    assert opened(size).evaluate(OVERLAPS) == []


def test_every_figure_has_a_title_and_a_text_alternative(opened):
    figures = opened(DESKTOP).evaluate(
        "[...document.querySelectorAll('figure')].map(one => ({"
        "title: one.querySelector('h3').textContent.trim(), caption: one.querySelector('figcaption p').textContent,"
        "panels: [...one.querySelectorAll('svg')].map(svg => [svg.getAttribute('role'), "
        "...svg.getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id).textContent)])}))"
    )
    assert len(figures) >= 15
    for figure in figures:
        assert figure["title"]
        assert len(figure["caption"]) > 20
        assert figure["panels"]
        for role, title, text in figure["panels"]:
            assert role == "img"
            assert len(title) > 5
            assert len(text) > 20
    assert len({title for figure in figures for _, title, _ in figure["panels"]}) == sum(
        len(figure["panels"]) for figure in figures
    )


def test_it_can_be_read_without_a_mouse(opened):
    page = opened(DESKTOP)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('a, summary, [tabindex=\"0\"]')].filter(one =>"
        " !(one.getAttribute('aria-label') || one.textContent.trim())).length"
    )
    assert unnamed == 0
    # Headings say the order of the page: none is skipped.
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(one => +one.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


CONTRAST = """
(() => {
  const luminance = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126*r + 0.7152*g + 0.0722*b; };
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  const ratio = colour => { const one = luminance(colour);
    return (Math.max(one, page) + 0.05) / (Math.min(one, page) + 0.05); };
  const html = [...document.querySelectorAll('p, td, th, dt, dd, a, li, h1, h2, h3, summary, caption')]
    .map(one => ratio(getComputedStyle(one).color));
  const drawn = [...document.querySelectorAll('svg text')].map(one => getComputedStyle(one).fill)
    .filter(fill => luminance(fill) !== page).map(ratio);
  return [Math.min(...html), Math.min(...drawn)];
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_in_dark(opened, scheme):
    page = opened(DESKTOP, color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(", "))) > 382) == (scheme == "light")
    assert min(page.evaluate(CONTRAST)) >= 4.5


def test_a_download_gives_the_numbers_of_the_results_folder(opened, made):
    page = opened(DESKTOP)
    with page.expect_download() as found:
        page.click('#early a[download="early.csv"]')
    saved = found.value.path()
    assert saved.read_text() == (made.folder.results / "early.csv").read_text()


def test_on_paper_it_is_light_and_folds_are_open(opened, tmp_path):
    page = opened(DESKTOP, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--surface')") == "#fffffe"
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
