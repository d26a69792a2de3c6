"""What stands around the text of a page: navigation, search, contents."""

import html
import posixpath

GUIDES = [("cli", "Command line"), ("show", "Show"), ("viewer", "Viewer"), ("heads", "Heads"), ("explain", "Explain"),
          ("ablate", "Ablate"), ("lab", "Experiments"), ("python", "Python"), ("attention", "Attention in C++"), ("c", "C"),
          ("gradients", "Gradients"), ("decoding", "Decoding"), ("models", "Models"), ("generate", "Generate and translate"),
          ("chat", "Chat"), ("tokenizers", "Tokenizers"), ("weights", "Parameter precision"), ("train", "Training"),
          ("cluster", "Several processes"), ("build", "Building and linking"), ("testing", "Testing")]
NAVIGATION = [
    ("Start", [("index.html", "Overview"), ("performance.html", "Speed"), ("models/index.html", "Default models")]),
    ("Learn", [("learn/index.html", "Sixteen chapters"), ("notebooks/index.html", "Notebooks"), ("seeds.html", "Claims, tested"),
               ("glossary.html", "Glossary")]),
    ("Guides", [(f"guide/{name}.html", title) for name, title in GUIDES]),
    ("Reference", [("reference/cpp/index.html", "C++"), ("reference/python/index.html", "Python"), ("reference/c.html", "C")]),
    ("Project", [("architecture.html", "Architecture"), ("decisions/index.html", "Decisions"), ("scaling.html", "Beyond one process"),
                 ("CONTRIBUTING.html", "Contributing"), ("CHANGELOG.html", "Changelog")]),
]

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Headlight</title>
<link rel="stylesheet" href="{root}site.css">
<script>document.documentElement.dataset.theme = (() => {{ try {{ return localStorage.theme || "" }} catch {{ return "" }} }})()</script>
</head>
<body data-root="{root}">
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="name" href="{root}index.html">Headlight</a>
<div class="search"><input id="search" type="search" placeholder="Search  ( / )" aria-label="Search" autocomplete="off"
 role="combobox" aria-expanded="false" aria-controls="found"><ul id="found" role="listbox" hidden></ul></div>
<button id="theme" type="button" aria-label="Switch between light and dark">◐</button>
</header>
<div class="columns">
<nav aria-label="Pages"><details id="menu"><summary>Contents</summary>
{navigation}
</details></nav>
<main id="main">
{body}
</main>
<aside aria-label="On this page">{contents}</aside>
</div>
<script src="{root}search-index.js" defer></script>
<script src="{root}site.js" defer></script>
</body>
</html>
"""


def navigation_html(here, root):
    parts = []
    for group, entries in NAVIGATION:
        items = []
        for to, title in entries:
            # A page of a folder belongs to the entry of the folder.
            inside = to.endswith("/index.html") and here.startswith(to.removesuffix("index.html"))
            current = ' aria-current="page"' if to == here else ' class="inside"' if inside else ""
            items.append(f'<li><a href="{root}{to}"{current}>{html.escape(title)}</a></li>')
        parts.append(f"<h2>{group}</h2><ul>{''.join(items)}</ul>")
    return "\n".join(parts)


def contents_html(contents):
    if len(contents) < 2:
        return ""
    items = "".join(f'<li class="level{level}"><a href="#{html.escape(anchor)}">{name.replace("_", "_<wbr>")}</a></li>'
                    for level, anchor, name in contents)
    return f"<h2>On this page</h2><ul>{items}</ul>"


def page_html(here, title, body, contents):
    depth = posixpath.dirname(here).count("/") + 1 if "/" in here else 0
    root = "../" * depth
    return PAGE.format(title=title, root=root, body=body, navigation=navigation_html(here, root), contents=contents_html(contents))
