"""Site builder hook: a section in the reference for every structure of the registry."""

from typing import Any

import spatialindex as si

PAGE = "reference/structures.md"
MARK = "<!-- structures:"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put the sections in place of the mark."""
    if page.file.src_uri != PAGE:
        return markdown
    before, mark, after = markdown.partition(MARK)
    if not mark:
        raise ValueError(f"{PAGE} has no line {MARK!r}")
    rest = after.partition("-->")[2]
    return before + "\n".join(section(entry) for entry in si.structures()) + rest


def section(entry: Any) -> str:
    """Write the section of one structure."""
    dimensions = " and ".join(f"{ndim}D" for ndim in entry.ndims)
    lines = [f"## `{entry.name}`", "", f"{entry.summary[0].upper()}{entry.summary[1:]}. "]
    lines[-1] += f"{dimensions}."
    if entry.parameters:
        lines += ["", "| parameter | default | what it is | tuned |", "| --- | --- | --- | --- |"]
        lines += [row(parameter) for parameter in entry.parameters]
    path = entry.path.replace(":", ".")
    options = ["    options:", "      inherited_members: false", "      heading_level: 3"]
    return "\n".join([*lines, "", f"::: {path}", *options, ""])


def row(parameter: Any) -> str:
    """Write the row of one parameter."""
    choices = f" ({', '.join(f'`{c!r}`' for c in parameter.choices)})" if parameter.choices else ""
    tuned = "yes" if parameter.tunable else "no"
    return (
        f"| `{parameter.name}` | `{parameter.default!r}` | {parameter.summary}{choices} | {tuned} |"
    )


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings announce code blocks by two colons, of which a reader needs one."""
    return html.replace("::</p>", ":</p>")
