"""Pages of reference: C++ and C from the public headers, Python from the docstrings. Nothing is imported or compiled."""

import ast
import html
import re

import highlight

MODULES = [("headlight", ["ops", "model", "run", "hooks", "figure", "weights"]), ("headlight.results", ["results"]),
           ("headlight.reference", ["reference"]), ("headlight.compat", ["compat"]), ("headlight.torch", ["torch"]),
           ("headlight.notebook", ["notebook"])]
OPENING = re.compile(r"^(namespace|extern|#|\}|\s*$)")


def prose(lines):
    """Comment lines as HTML: indented lines are code."""
    out, text, code = [], [], []

    def flush():
        if text:
            out.append(f"<p>{inline(' '.join(text))}</p>")
        if code:
            out.append(f"<pre><code>{highlight.code(html.escape(chr(10).join(code)), 'cpp')}</code></pre>")
        text.clear()
        code.clear()

    for line in lines:
        if re.match(r"\s{2,}\S", line):
            if text:
                flush()
            code.append(line)
        elif not line.strip():
            flush()
        else:
            if code:
                flush()
            text.append(line.strip())
    flush()
    return "".join(out)


def inline(text):
    text = html.escape(text)
    text = re.sub(r"``?([^`]+)``?", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)


# C++ and C.


def strip_comment(text):
    """The lines inside of // or /* */."""
    if text.lstrip().startswith("/*"):
        inner = re.sub(r"^\s*/\*|\*/\s*$", "", text)
        lines = inner.splitlines()
        return [lines[0].strip(), *[re.sub(r"^   ?", "", line) for line in lines[1:]]]
    return [re.sub(r"^\s*// ?", "", line) for line in text.splitlines()]


def declarations(text):
    """(comment, code) of a header, in order: a declaration ends where its brackets are closed and a ; or } stands."""
    comment, code, depth = [], [], 0
    lines = iter(text.splitlines())
    for line in lines:
        bare = re.sub(r"//.*|/\*.*?\*/|\"(?:\\.|[^\"])*\"|'[^']'", "", line)
        if not code and line.startswith("//"):
            comment.append(line)
            continue
        if not code and line.startswith("/*"):
            comment = [line]
            while "*/" not in comment[-1]:
                comment.append(next(lines))
            continue
        if not code and OPENING.match(line):
            if not line.strip() or not line.startswith("#"):
                comment = []
            continue
        code.append(line)
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        if depth == 0 and re.search(r"[;}]\s*$", bare.rstrip()):
            yield "\n".join(comment), "\n".join(code)
            comment, code = [], []


def name_of(code):
    """What a declaration declares."""
    code = re.sub(r"\[\[.*?\]\]|template\s*<[^;{]*?>\s*(?=\w)|/\*.*?\*/", "", code, flags=re.DOTALL)
    code = re.sub(r"//[^\n]*", "", code)
    kind = re.match(r"\s*(?:typedef\s+)?(?:class|struct|enum(?:\s+class)?|union)\s+(?:HEADLIGHT_API\s+)?(\w+)", code)
    if kind:
        return kind[1]
    function = re.search(r"([\w:~]+|operator\S+?)\s*\(", code)
    if function:
        return function[1]
    variable = re.search(r"(\w+)\s*(?:=|;|\[)", code)
    return variable[1] if variable else ""


def header_page(text, title, path):
    top = re.match(r"((?://[^\n]*\n)+|/\*.*?\*/)", text, re.DOTALL)
    body = [f"<h1>{title}</h1>", f'<p class="from"><code>#include "{path}"</code></p>']
    if top:
        body.append(prose(strip_comment(top[0])))
        text = text[top.end():]
    contents, used = [], {}
    for comment, code in declarations(text):
        name = name_of(code)
        if not name or "visibility" in code.split("\n")[0]:
            continue
        used[name] = used.get(name, 0) + 1
        anchor = name if used[name] == 1 else f"{name}-{used[name]}"
        if used[name] == 1:
            contents.append((2, anchor, html.escape(name)))
            body.append(f'<h2 id="{anchor}">{html.escape(name)}</h2>')
        if comment:
            body.append(prose(strip_comment(comment)))
        body.append(f'<pre><code>{highlight.code(html.escape(code), "cpp")}</code></pre>')
    return "".join(body), contents


def headers(root):
    folder = root / "include" / "headlight"
    rows, pages = [], []
    for path in sorted(folder.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        name = f"headlight/{path.name}"
        body, contents = header_page(text, name, name)
        pages.append((f"reference/cpp/{path.stem}.html", name, body, contents))
        first = re.match(r"// ?(.*?)(?:[.:](?:\s|$)|\n)", text)
        rows.append(f'<tr><td><a href="{path.stem}.html"><code>{name}</code></a></td><td>{inline(first[1]) if first else ""}</td></tr>')
    pages.append(("reference/cpp/index.html", "C++ reference", "<h1>C++ reference</h1><p>From the public headers. "
                  "<code>headlight/headlight.h</code> includes attention, <code>headlight/model.h</code> the models.</p>"
                  f'<div class="wide"><table><tbody>{"".join(rows)}</tbody></table></div>', []))
    text = (folder / "c" / "headlight.h").read_text(encoding="utf-8").replace("HEADLIGHT_API ", "")
    body, contents = header_page(text, "C reference", "headlight/c/headlight.h")
    return [*pages, ("reference/c.html", "C reference", body, contents)]


# Python.


def docstring_html(text):
    """Paragraphs, and examples as code."""
    out = []
    for part in filter(None, re.split(r"\n\s*\n", text.strip())):
        lines = part.splitlines()
        if lines[0].lstrip().startswith(">>>") or re.match(r"\s{4}\S", lines[0]):
            out.append(f'<pre><code>{highlight.code(html.escape(part), "python")}</code></pre>')
        else:
            out.append(f"<p>{inline(' '.join(line.strip() for line in lines))}</p>")
    return "".join(out)


def signature(function, owner=""):
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    if "property" in decorators:
        return f"{owner}{function.name}: {ast.unparse(function.returns) if function.returns else 'Any'}"
    function.args.args = [argument for argument in function.args.args if argument.arg != "self"]
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    arguments = ast.unparse(function.args)
    if len(arguments) > 90:
        arguments = "\n    " + ",\n    ".join(re.split(r", (?=\w+:|\*)", arguments)) + ",\n"
    return f"{owner}{function.name}({arguments}){returns}"


def is_plain(item):
    """A property that needs no words: its name and type say what it is."""
    return isinstance(item, ast.FunctionDef) and "property" in map(ast.unparse, item.decorator_list) and not ast.get_docstring(item)


def entry(node, owner="", native=()):
    """The HTML of a function, or of a class with its public members. `native`: classes of the extension module's stub."""
    anchor = f"{owner}{node.name}"
    level = 3 if owner else 2
    text = ast.get_docstring(node) or ""
    head = f'<h{level} id="{anchor}">{anchor}</h{level}>'
    if isinstance(node, ast.FunctionDef):
        code = highlight.code(html.escape(signature(node, owner)), "python")
        return head + f'<pre class="signature"><code>{code}</code></pre>' + docstring_html(text), [(level, anchor, anchor)]
    body, contents = [head, docstring_html(text)], [(level, anchor, anchor)]
    bases = [ast.unparse(base).removeprefix("_headlight.") for base in node.bases]
    members = [item for base in native if base.name in bases for item in base.body] + node.body
    fields = [ast.unparse(item) for item in members if isinstance(item, ast.AnnAssign) and not item.target.id.startswith("_")]
    fields += [signature(item) for item in members if native and is_plain(item)]
    # Constructors for users have names for their arguments; others are called by the package alone.
    fields += [signature(item).replace("__init__", node.name).replace(" -> None", "") for item in members
               if isinstance(item, ast.FunctionDef) and item.name == "__init__" and item.args.kwonlyargs]
    if fields:
        body.append(f'<pre class="signature"><code>{highlight.code(html.escape(chr(10).join(fields)), "python")}</code></pre>')
    for item in members:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_") and not (native and is_plain(item)):
            inner, names = entry(item, f"{node.name}.")
            body.append(inner)
            contents += names
    return "".join(body), contents


def public_names(tree):
    """The names of __all__; None: it has none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def python_pages(root):
    pages, rows = [], []
    stub = ast.parse((root / "python" / "headlight" / "_headlight.pyi").read_text(encoding="utf-8"))
    native = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    for module, files in MODULES:
        package = root / "python" / "headlight"
        top = ast.parse((package / ("__init__.py" if module == "headlight" else f"{files[0]}.py")).read_text(encoding="utf-8"))
        about, public = ast.get_docstring(top) or "", public_names(top)
        body, contents = [f"<h1>{module}</h1>", docstring_html(about)], []
        for file in files:
            tree = ast.parse((package / f"{file}.py").read_text(encoding="utf-8"))
            for node in tree.body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                    if public is not None and node.name not in public | {"Weights"}:
                        continue
                    inner, names = entry(node, native=native if isinstance(node, ast.ClassDef) and node.name == "KvCache" else ())
                    body.append(inner)
                    contents += names
            if file == "hooks":  # what hooks are called with
                for inner, names in (entry(node, native=native) for node in native if ast.get_docstring(node)):
                    body.append(inner)
                    contents += names
        name = module.replace(".", "-")
        pages.append((f"reference/python/{name}.html", f"{module} (Python)", "".join(body), contents))
        first = about.split("\n")[0]
        rows.append(f'<tr><td><a href="{name}.html"><code>{module}</code></a></td><td>{inline(first)}</td></tr>')
    pages.append(("reference/python/index.html", "Python reference", "<h1>Python reference</h1><p>From the docstrings; their examples "
                  f'are run by a test.</p><div class="wide"><table><tbody>{"".join(rows)}</tbody></table></div>', []))
    return pages


def pages(root):
    """(address, title, body, contents) of every page."""
    return headers(root) + python_pages(root)
