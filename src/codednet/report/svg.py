"""Figures as SVG that a page can hold: own ids, colours of the page, text as text, a title and a description."""

import io
import re
from html import escape

import matplotlib
from matplotlib.figure import Figure

from codednet.report.style import COLOURS

SCALE = 1.25
"""Pixels of a page for a point of a figure."""

_VARIABLES = {colour.light: f"var(--{name},{colour.light})" for name, colour in COLOURS.items()}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def to_svg(figure: Figure, name: str, title: str, text: str) -> str:
    """The figure as an `<svg>` element whose ids all start with `name`; the same figure gives the same letters.

    `title` names it, and `text` says in words what it shows.
    """
    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(written, format="svg", metadata=_NO_METADATA, transparent=True)
    drawn = written.getvalue()
    body = drawn[drawn.index("<svg") : drawn.rindex("</svg>")]
    body = body[body.index(">") + 1 :]
    width, height = (round(side * 72, 2) for side in figure.get_size_inches())
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="panel" role="img" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width * SCALE:g}" height="{height * SCALE:g}" aria-labelledby="{name}-title {name}-text" '
        'stroke-linejoin="round">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-text">{escape(text)}</desc>'
    )
    return f"{head}{_own(_lighter(body), name)}</svg>"


def _own(body: str, name: str) -> str:
    """Ids that no other figure of a page has, those that nothing refers to left out, and colours of the page."""
    used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", body))
    body = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", body)
    body = re.sub(r'xlink:href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _VARIABLES.get(found[0], found[0]), body)


def _lighter(body: str) -> str:
    """The same picture in fewer letters: no comments, no fonts, a hundredth of a point, no rotation by nothing."""
    body = re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)  # it would hold for the whole page
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"font-family: [^;\"]+;? ?", "", body)
    body = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", body)
    body = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), body)
    body = re.sub(r"\s*\n\s*", " ", body)
    return re.sub(r"> <", "><", body).replace('"> ', '">').strip()
