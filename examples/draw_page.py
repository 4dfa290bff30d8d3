#!/usr/bin/env python3
"""Draws a page of text as an SVG, legible on light and on dark pages: examples/draw_page.py COMMAND <PAGE >PAGE.svg

COMMAND is shown above the page, behind a prompt. Standard library only.
"""

import sys
from xml.sax.saxutils import escape

ADVANCE, LINE, MARGIN = 7.2, 17, 16  # pixels: width of a character at 12 px, distance of baselines, border
LABEL = 10  # characters: the column of labels, the space behind the longest included
STYLE = """
  .page { fill: #f6f8fa; stroke: #d0d7de }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', Consolas, monospace; white-space: pre; fill: #1f2328 }
  .label { font-weight: bold; fill: #0550ae }
  .prompt { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d }
    text { fill: #e6edf3 }
    .label { fill: #79c0ff }
    .prompt { fill: #9198a1 }
  }"""


def words(text, column, line, kind=""):
    """An element for `text`. Its length is given, so that columns are straight in any font."""
    x, y = MARGIN + column * ADVANCE, MARGIN + (line + 1) * LINE - 5
    attribute = f' class="{kind}"' if kind else ""
    return (f'<text x="{x:.1f}" y="{y}" textLength="{len(text) * ADVANCE:.1f}" lengthAdjust="spacingAndGlyphs"'
            f'{attribute} xml:space="preserve">{escape(text)}</text>')


def elements(row, line):
    """The label that begins a line, and what is behind it."""
    column = len(row) - len(row.lstrip())
    if column > 0 or row[LABEL - 1:LABEL] != " ":
        return [words(row.strip(), column, line)] if row.strip() else []
    return [words(row[:LABEL].rstrip(), 0, line, "label"), words(row[LABEL:], LABEL, line)]


def picture(command, rows):
    width = 2 * MARGIN + ADVANCE * max(len(row) for row in [*rows, "$ " + command])
    height = 2 * MARGIN + LINE * (len(rows) + 2)
    drawn = [words("$ " + command, 0, 0, "prompt")]
    for number, row in enumerate(rows):
        drawn += elements(row, number + 2)
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">',
                      f"<title>The page of {escape(command)}</title>", f"<style>{STYLE}\n</style>",
                      f'<rect class="page" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="8"/>', *drawn, "</svg>", ""])


if __name__ == "__main__":
    page = [row.rstrip() for row in sys.stdin.read().strip("\n").split("\n")]
    sys.stdout.write(picture(sys.argv[1], page))
