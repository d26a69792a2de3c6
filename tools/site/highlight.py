"""Colours for code: comments, strings, keywords and numbers, by regular expressions over escaped HTML."""

import re

KEYWORDS = {
    "cpp": "auto bool break case class const constexpr continue default double else enum explicit extern float for if inline int "
           "namespace noexcept nullptr operator override private public return size_t static static_cast struct switch template "
           "this throw true false typedef typename using virtual void while int32_t int64_t",
    "python": "and as assert break class continue def del elif else except False finally for from if import in is lambda None not "
              "or pass raise return True try while with yield",
    "sh": "case do done elif else esac exit export fi for function if in local return set then while",
}
LANGUAGES = {"c": "cpp", "c++": "cpp", "cc": "cpp", "h": "cpp", "py": "python", "ipynb": "python", "bash": "sh", "cmake": "sh", "toml": "sh"}
COMMENT = {"cpp": r"//[^\n]*|/\*.*?\*/", "python": r"#[^\n]*", "sh": r"(?:(?<=\s)|^)#[^\n]*"}
STRING = r"&quot;(?:\\.|(?!&quot;)[^\\\n])*&quot;|&#x27;(?:\\.|(?!&#x27;)[^\\\n])*&#x27;|'(?:\\.|[^'\\\n])*'"


def language_of(path):
    return path.rpartition(".")[2]


def code(escaped, language):
    """Code that is escaped for HTML already, with spans."""
    language = LANGUAGES.get(language, language)
    if language not in KEYWORDS:
        return escaped
    words = "|".join(KEYWORDS[language].split())
    pattern = re.compile(rf"(?P<comment>{COMMENT[language]})|(?P<string>{STRING})|(?<![\w&#])(?P<keyword>{words})(?!\w)"
                         r"|(?<![\w&#;])(?P<number>\d[\d.]*(?:e-?\d+)?)(?!\w)", re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda m: f'<span class="{m.lastgroup[0]}">{m[0]}</span>', escaped)


def blocks(body):
    """The code blocks of a page."""
    return re.sub(r'<pre><code class="language-([\w+]+)">(.*?)</code></pre>',
                  lambda m: f'<pre><code class="language-{m[1]}">{code(m[2], m[1])}</code></pre>', body, flags=re.DOTALL)
