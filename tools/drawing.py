"""SVG by hand, for the drawings of the pages: light and dark, no fonts or scripts from elsewhere."""

STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2430; }
.small { font-size: 12.5px; fill: #596072; }
.wrong { font-size: 12.5px; fill: #b3452c; }
.word { font: 13px ui-monospace, monospace; }
.head { font-weight: 600; }
.box { fill: #ffffff; stroke: #c9cedb; }
.on { fill: #2f6fb4; } .off { fill: #d8dce6; } .shared { fill: #8aa0bd; }
.line { stroke: #596072; fill: none; stroke-width: 1.5; }
.path { stroke: #2f6fb4; fill: none; stroke-width: 2; stroke-dasharray: 5 4; }
.page { fill: #f7f8fb; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9f0; } .small { fill: #a5adbf; } .box { fill: #1d222c; stroke: #454d5e; }
  .on { fill: #6aa9ea; } .off { fill: #3a4150; } .shared { fill: #71839d; } .wrong { fill: #e08a72; }
  .line { stroke: #a5adbf; } .path { stroke: #6aa9ea; } .page { fill: #141820; }
}
"""


def page(width: int, height: int, title: str, description: str, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d">\n'
        f'<title id="t">{title}</title>\n<desc id="d">{description}</desc>\n<style>{STYLE}</style>\n'
        f'<rect class="page" width="{width}" height="{height}" rx="8"/>\n{body}\n</svg>\n'
    )


def text(x: float, y: float, content: str, kind: str = "", middle: bool = False) -> str:
    anchor = "middle" if middle else "start"
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{content}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:.4g}" rx="2"/>'


def box(x: float, y: float, width: float, height: float) -> str:
    return rect(x, y, width, height, "box")


def arrow(start: float, y: float, end: float) -> str:
    return f'<path class="line" d="M {start} {y} H {end} m -6 -4 l 6 4 l -6 4"/>'
