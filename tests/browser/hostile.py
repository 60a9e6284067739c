"""Text that would act if anything took it for more than text, and what a page shows where something did.

All of it carries one mark, `zq7`: in an attribute, an element's name or a global of the page it means that text became markup.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from playwright.sync_api import Page

MARKUP: Final = (
    "</pre></code></title></style></textarea></svg>"
    '<img src=zq7 onerror="window.zq7=1"><script>window.zq7=1</script><svg onload="window.zq7=1">'
    '<a href="javascript:window.zq7=1" id=zq7 name=zq7>zq7</a>'
    '<button class=zq7 data-commandlinker-command="notebook:restart-kernel" data-commandlinker-args="{}">zq7</button>'
    "<form id=zq7 name=jupyterapp class=zq7><input name=body class=zq7></form>"
    '<iframe src="http://192.0.2.7/" class=zq7></iframe><style class=zq7>body{display:none}</style>'
    '<link rel=stylesheet href="http://192.0.2.7/" class=zq7>'
)
SEEN: Final = "<img src=zq7 onerror="
"""A part of it that fits wherever it is shown."""
ESCAPES: Final = (
    "\x1b[2J\x1b[31mred\x1b[0m\x1b]8;;javascript:window.zq7=1\x07link\x1b]8;;\x07\x1b]0;zq7"
)
IDS: Final = (
    "constructor",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "length",
    "then",
    "jupyterapp",
)
"""Step ids that are names of everything's own in a browser."""

_BREAKS: Final = (
    *(
        "",
        '"',
        "'",
        "`",
        ">",
        '">',
        "'>",
        "</script>",
        "</style>",
        "</textarea>",
        "</title>",
        "</svg>",
        "</math>",
    ),
    *("-->", "]]>", "&quot;&gt;", '\\">', "\u2028", "<!--", "%0a"),
)
"""Ends of what a text might stand in: attributes, elements, comments, strings, templates."""
_ACTS: Final = (
    '<img src=zq7 onerror="window.zq7=1">',
    "<svg/onload=window.zq7=1 class=zq7>",
    "<script class=zq7>window.zq7=1</script>",
    '<a href="javascript:window.zq7=1" id=zq7>zq7</a>',
    '<iframe class=zq7 srcdoc="<script>parent.zq7=1</script>"></iframe>',
    "<math><mtext><style><img src=zq7 onerror=window.zq7=1></style></mtext></math>",
    "<details open ontoggle=window.zq7=1 class=zq7>",
    "<style class=zq7>@import'http://192.0.2.7/zq7';*{display:none}</style>",
    "<form id=zq7><input name=zq7 autofocus onfocus=window.zq7=1>",
    "<button class=zq7 data-commandlinker-command=zq7>zq7</button>",
    "[zq7](javascript:window.zq7=1) ![zq7](http://192.0.2.7/zq7)",
    "**<b class=zq7>**`<b class=zq7>`\n```zq7\n<b class=zq7>",
    "$\\href{javascript:window.zq7=1}{zq7}$ \\(\\class{zq7}{x}\\)",
    "<zq7-zq7 style=x:expression(window.zq7=1)>",
    "<meta http-equiv=refresh content='0;url=javascript:window.zq7=1' class=zq7>",
)
TEXTS: Final = tuple(end + act for act in _ACTS for end in _BREAKS)
"""300 texts, each a way out of something and a way to act."""

_ACTING: Final = """
() => {
  // What only names or tells may hold any text.
  const mute = new Set(['aria-label', 'aria-valuetext', 'title', 'value', 'placeholder']);
  const DRAWN = 'data:image/svg+xml,';
  const isDrawn = (element, name, value) => element.localName === 'img' && name === 'src' && value.startsWith(DRAWN);
  // The address of a picture is a document of its own.
  const drawn = element =>
    new DOMParser().parseFromString(decodeURIComponent(element.src.slice(DRAWN.length)), 'image/svg+xml');
  const looked = root => [...root.querySelectorAll('*')].flatMap(element => [
    ...(element.localName.includes('zq7') ? [element.localName] : []),
    ...[...element.attributes].flatMap(({name, value}) =>
      isDrawn(element, name, value) ? looked(drawn(element))
      : !name.includes('zq7') && (mute.has(name) || !value.includes('zq7')) ? []
      : [`${element.localName} ${name}=${value.slice(0, 60)}`]),
  ]);
  const found = looked(document);
  return window.zq7 === undefined ? found : [...found, 'window.zq7'];
}
"""


def acting(page: Page) -> list[str]:
    """Elements, attributes and globals of a page that hostile text became."""
    told: list[Any] = page.evaluate(_ACTING)
    return [str(each) for each in told]


def workflow() -> str:
    """A cell whose run says hostile things in every place a run has for words."""
    text = MARKUP + ESCAPES
    constructor, error, raised, question, task, plain, held = IDS
    document = {
        "description": MARKUP,
        "inputs": {"given": {"type": "string", "default": MARKUP}},
        "agents": {
            "w": {
                "runner": "scripted",
                "role": MARKUP,
                "script": {
                    "*": [
                        [
                            {
                                "tool": text[:200],
                                "args": {MARKUP: text, "path": text},
                                "result": text,
                            },
                            {"say": text},
                            {"report": _report(text)},
                        ]
                    ]
                },
            }
        },
        "steps": [
            {
                "id": constructor,
                "run": "cat hostile; echo; tail -c 400 hostile",
                "posture": "read_only",
                "description": MARKUP,
                "env": {"WORDS": MARKUP},
                "verify": [{"output_contains": "zq7"}],
            },
            {"id": error, "run": "cat hostile >&2; exit 3", "posture": "read_only"},
            {"id": raised, "call": ":spill", "with": {"words": "{{ inputs.given }}"}},
            {"id": question, "ask": {"question": MARKUP, "choices": [MARKUP[:80], "fine"]}},
            {"id": task, "task": MARKUP, "agent": "w"},
            {"id": plain, "run": "true", "depends_on": [error], "posture": "read_only"},
            {"id": held, "ask": {"question": text}, "depends_on": [constructor]},
        ],
    }
    return f"%%workflow hostile --wait --expect needs_orchestrator --as run\n{json.dumps(document)}"


def crowd(texts: Sequence[str]) -> str:
    """A cell whose run has three steps for each text: one that prints it and fails, a question, and an agent that says it."""
    agents = {
        f"a{n}": {
            "runner": "scripted",
            "script": {"*": [[{"say": text}, {"report": _report(text)}]]},
        }
        for n, text in enumerate(texts)
    }
    kinds: list[dict[str, Any]] = []
    for n, text in enumerate(texts):
        kinds += [
            {
                "id": f"s{n:02}",
                "run": 'echo "$WORDS"; exit 3',
                "env": {"WORDS": text},
                "posture": "read_only",
            },
            {"id": f"q{n:02}", "ask": {"question": text, "choices": [text, "fine"]}},
            {"id": f"t{n:02}", "task": text, "agent": f"a{n}"},
        ]
    steps = [{**step, "description": texts[place // 3]} for place, step in enumerate(kinds)]
    document = {"agents": agents, "steps": steps, "max_concurrency": 12}
    return f"%%workflow crowd --wait --expect needs_orchestrator --as run\n{json.dumps(document)}"


def _report(text: str) -> dict[str, Any]:
    return {
        "checkpoint_status": "partial",
        "summary": text[:1_500],
        "output": {"zq7": text},
        "limitations": [text[:500]],
        "seams": [],
    }
