"""The palette and the sheet: every colour a view uses, for light and dark, with JupyterLab's own where it has them.

Tones follow a palette that colour-blind readers tell apart; each status has a shape and a word as well. Views always paint
their own background, so that a dark system setting never meets a white page unreadably.
"""

from __future__ import annotations

import re
from typing import Final

COLOURS: Final = {
    "good": "#11795a",
    "ready": "#11795a",
    "bad": "#b3261e",
    "late": "#a8480b",
    "half": "#8a5a00",
    "ask": "#7a3db0",
    "live": "#0b62b8",
    "idle": "#6a7280",
}
"""The tones on white, for exports that know no theme."""

_LIGHT: Final = (
    "color-scheme:light;--px-bg:var(--jp-layout-color1,#fff);--px-fg:var(--jp-ui-font-color1,#1f2430);"
    "--px-mute:var(--jp-ui-font-color2,#59616e);--px-line:var(--jp-border-color2,#d5d9e0);"
    "--px-edge:#a5adba;--px-band:rgba(90,105,130,.07);--px-on:#fff;"
    + ";".join(f"--px-{tone}:{colour}" for tone, colour in COLOURS.items())
)
_DARK: Final = (
    "color-scheme:dark;--px-bg:var(--jp-layout-color1,#16191f);--px-fg:var(--jp-ui-font-color1,#e4e7ec);"
    "--px-mute:var(--jp-ui-font-color2,#a2aab6);--px-line:var(--jp-border-color2,#3a414d);"
    "--px-edge:#66707f;--px-band:rgba(160,180,215,.08);--px-on:#14171c;"
    "--px-good:#4fc79a;--px-ready:#4fc79a;--px-bad:#ff8a80;--px-late:#f59a5b;"
    "--px-half:#e3b341;--px-ask:#c99bf2;--px-live:#6cb0f5;--px-idle:#98a2b0"
)

_TONES: Final = (
    "".join(f".pixirnb-{tone}{{color:var(--px-{tone},#555)}}" for tone in COLOURS)
    + ".pixirnb-mute{color:var(--px-mute,#59616e)}.pixirnb-on{stroke:var(--px-on,#fff)}"
)
LIGHT: Final = f".pixirnb-view{{{_LIGHT}}}{_TONES}"
"""The palette of a picture that knows no theme: an `<img>` has a document of its own."""

PALETTE: Final = (
    f".pixirnb-view{{{_LIGHT}}}"
    "@media (prefers-color-scheme:dark){"
    f".pixirnb-view:not([data-jp-theme-light=true] *,.vscode-light *){{{_DARK}}}}}"
    f"[data-jp-theme-light=false] .pixirnb-view,.vscode-dark .pixirnb-view{{{_DARK}}}" + _TONES
)
"""Custom properties and one class a tone."""

PICTURE: Final = (
    ".pixirnb-picture{background:var(--px-bg,#fff);font-family:var(--jp-ui-font-family,"
    "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif)}"
    ".pixirnb-box{fill:var(--px-bg,#fff);stroke:currentColor;stroke-width:1.3}"
    ".pixirnb-copy{fill:none;stroke:currentColor;stroke-width:1;opacity:.6}"
    ".pixirnb-idle>.pixirnb-box{stroke:var(--px-line,#c4cad4)}"
    ".pixirnb-held>.pixirnb-box{stroke:currentColor;stroke-dasharray:4 3}"
    ".pixirnb-tint{fill:currentColor;opacity:.09}"
    ".pixirnb-edge{fill:none;stroke:var(--px-edge,#a5adba);stroke-width:1.2}"
    ".pixirnb-head{fill:var(--px-edge,#a5adba)}"
    ".pixirnb-hold{fill:none;stroke:currentColor;stroke-width:1.4;stroke-dasharray:4 3}"
    ".pixirnb-band{fill:var(--px-band,#f2f4f7)}"
    ".pixirnb-name{fill:var(--px-fg,#222);font-size:12px;font-weight:600}"
    ".pixirnb-small{fill:var(--px-mute,#555);font-size:10.5px}"
    ".pixirnb-tries{paint-order:stroke;stroke:var(--px-bg,#fff);stroke-width:4px;stroke-linejoin:round}"
)
"""Style of the picture of a workflow, in addition to the palette."""

_NIGHT: Final = "img.pixirnb-picture{filter:invert(.91) hue-rotate(180deg)}"

FRAME: Final = "border:1px solid rgba(128,136,150,.35);border-radius:8px;padding:12px 14px;margin:4px 0;max-width:1080px"
SCROLL: Final = "overflow:auto;max-height:760px;margin:8px 0"
# Notebooks shrink pictures to the page; a name of 6 px is no name, so this one keeps its size and scrolls.
UNSHRUNK: Final = "max-width:none"
"""Styles of elements themselves: what is left of a card where a notebook is not trusted, which drops style sheets."""

_RULE: Final = re.compile(r"([^{}@]+)\{[^{}]*\}")
_CLASS: Final = re.compile(r"pixirnb-[a-z]+")

CARD: Final = (
    f"div.pixirnb-view{{{FRAME};"
    "background:var(--px-bg,#fff);color:var(--px-fg,#222);font-size:13px;"
    "line-height:1.45;box-sizing:border-box;overflow-wrap:anywhere;"
    "font-family:var(--jp-ui-font-family,system-ui,-apple-system,'Segoe UI',Roboto,"
    "'DejaVu Sans',sans-serif)}"
    ".pixirnb-top{display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px}"
    ".pixirnb-status{display:inline-flex;align-items:center;gap:6px;font-weight:700;font-size:15px}"
    ".pixirnb-flow{font-weight:600;font-size:14px}.pixirnb-right{margin-left:auto}"
    "div.pixirnb-view.pixirnb-view p{margin:6px 0}"
    ".pixirnb-icon{vertical-align:-2px;flex:none}.pixirnb-icon:not([width]){width:14px;height:14px}"
    ".pixirnb-bar{display:flex;height:6px;border-radius:3px;overflow:hidden;gap:2px;margin:8px 0 6px}"
    ".pixirnb-bar>span{background:currentColor;min-width:4px}"
    ".pixirnb-bar>.pixirnb-idle,.pixirnb-bar>.pixirnb-faint{opacity:.4}"
    ".pixirnb-chips{display:flex;flex-wrap:wrap;gap:2px 14px;margin:0 0 8px}"
    ".pixirnb-chips b{color:var(--px-fg,#222);font-weight:600}"
    ".pixirnb-symbol{display:none}"
    "img.pixirnb-picture{display:block}"
    f"@media (prefers-color-scheme:dark){{{_NIGHT}}}"
    "[data-jp-theme-light=true] img.pixirnb-picture,.vscode-light img.pixirnb-picture{filter:none}"
    f"[data-jp-theme-light=false] img.pixirnb-picture,.vscode-dark {_NIGHT}"
    "div.pixirnb-view.pixirnb-view h4{margin:12px 0 4px;font-size:12px;font-weight:600;color:var(--px-mute,#555)}"
    "div.pixirnb-view.pixirnb-view table{border-collapse:collapse;width:100%;margin:4px 0;font-size:12.5px;"
    "border:0;table-layout:auto}"
    "div.pixirnb-view.pixirnb-view th{text-align:left;font-weight:600;color:var(--px-mute,#555);padding:3px 10px 3px 0;"
    "border:0;border-bottom:1px solid var(--px-line,#d5d9e0);background:none;white-space:nowrap}"
    "div.pixirnb-view.pixirnb-view td{text-align:left;padding:4px 10px 4px 0;border:0;border-bottom:1px solid "
    "var(--px-line,#d5d9e0);vertical-align:top;background:none;color:inherit;max-width:none}"
    "div.pixirnb-view.pixirnb-view tr{background:none}"
    "div.pixirnb-view.pixirnb-view tr:last-child>td{border-bottom:0}"
    "div.pixirnb-view.pixirnb-view .pixirnb-num{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}"
    ".pixirnb-nowrap,div.pixirnb-view.pixirnb-view .pixirnb-nowrap code{white-space:nowrap}"
    "div.pixirnb-view.pixirnb-view code{font-family:var(--jp-code-font-family,ui-monospace,Menlo,'DejaVu Sans Mono',"
    "monospace);font-size:12px;background:var(--px-band,#f2f4f7);color:var(--px-fg,#222);"
    "padding:1px 5px;border-radius:4px}"
    "div.pixirnb-view.pixirnb-view .pixirnb-next code{user-select:all}"
    "div.pixirnb-view.pixirnb-view pre{font-family:var(--jp-code-font-family,ui-monospace,Menlo,'DejaVu Sans Mono',"
    "monospace);font-size:12px;background:var(--px-band,#f2f4f7);color:var(--px-fg,#222);"
    "padding:8px 10px;border-radius:6px;margin:6px 0;white-space:pre-wrap;max-height:320px;"
    "overflow:auto;word-break:normal;overflow-wrap:anywhere}"
    "div.pixirnb-view.pixirnb-view summary{cursor:pointer;color:var(--px-mute,#555);margin:6px 0}"
    "div.pixirnb-view.pixirnb-view ul{list-style:none;margin:4px 0;padding:0}div.pixirnb-view.pixirnb-view li{margin:3px 0}"
)
"""Style of the cards around the picture. The class is named twice to outweigh JupyterLab's rules for rendered HTML."""


def used_rules(sheet: str, markup: str) -> str:
    """Return the rules of a sheet that apply to markup: each saved card and picture has its own."""
    classes = set(_CLASS.findall(markup))

    def kept(rule: re.Match[str]) -> str:
        selectors = rule[1].split(",")
        return (
            rule[0] if any(classes.issuperset(_CLASS.findall(each)) for each in selectors) else ""
        )

    return _RULE.sub(kept, sheet)
