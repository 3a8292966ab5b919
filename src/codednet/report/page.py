"""The page: every section of a run in one HTML file that needs nothing else, in light and dark, on screen and paper."""

from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from codednet.report.drawing import Verdict
from codednet.report.glossary import GLOSSARY
from codednet.report.section import Section, ShownFact
from codednet.report.style import COLOURS


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a report says, before it is a page or Markdown."""

    title: str
    about: tuple[tuple[str, str], ...]
    """What was trained, by which recipe, on what."""
    verdict: Verdict | None
    facts: tuple[ShownFact, ...]
    lacking: str
    """What the summary cannot say, and why; empty if nothing."""
    sections: tuple[Section, ...]
    footer: str
    version: str
    glossary: tuple[tuple[str, str], ...] = GLOSSARY


def write_html(page: Page) -> str:
    """The page as HTML."""
    templates = resources.files("codednet.report") / "templates"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style = environment.from_string((templates / "page.css").read_text(encoding="utf-8")).render(
        colours=Markup(_colours()), light=Markup(_variables("light"))
    )
    template = environment.from_string((templates / "page.html").read_text(encoding="utf-8"))
    return template.render(page=page, css=Markup(style))


def _colours() -> str:
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables('dark')} }} }}"
    return f":root {{ {_variables('light')} }}\n{dark}"


def _variables(theme: str) -> str:
    return " ".join(f"--{name}: {getattr(colour, theme)};" for name, colour in COLOURS.items())
