"""A page about the API, made of its OpenAPI description, without a script or an outside address."""

import re
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; } h2 code { font-size: 1.1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; }
tr { border-bottom: 1px solid #8885; }
pre { overflow-x: auto; padding: .8rem; background: #8882; }
"""

EXAMPLE_CALL = """curl {address}/translate --json '{{"q": "Ein Haus.", "source": "{source}", \
"target": "{target}"}}'"""


def render_docs(schema: dict[str, Any], *, address: str, source: str, target: str) -> str:
    """Return the page, in HTML.

    Args:
        schema: what FastAPI says of the API.
        address: of this server, for the example.
        source: a language that it knows, for the example.
        target: one that it writes, for the example.
    """
    example = EXAMPLE_CALL.format(address=address, source=source, target=target)
    parts = [
        f"<h1>{escape(schema['info']['title'])}</h1>",
        f"<p>{render_text(schema['info'].get('description', ''))}</p>",
        f"<pre tabindex=0><code>{escape(example)}</code></pre>",
        '<p>For programs: <a href="openapi.json">openapi.json</a></p>',
    ]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            parts += render_operation(schema, f"{method.upper()} {path}", operation)
    head = "<meta charset=utf-8><meta name=viewport content='width=device-width'><title>API</title>"
    return (
        f"<!doctype html><html lang=en><head>{head}<link rel=stylesheet href=docs.css></head>"
        f"<body><main>{''.join(parts)}</main></body></html>"
    )


def render_operation(schema: dict[str, Any], title: str, operation: dict[str, Any]) -> list[str]:
    """Describe one method at one address."""
    parts = [
        f"<h2><code>{escape(title)}</code></h2>",
        f"<p>{render_text(operation.get('description', operation.get('summary', '')))}</p>",
    ]
    sent = operation.get("requestBody", {}).get("content", {})
    if sent:
        kinds = ", ".join(sent)
        parts += [
            f"<h3>Sent ({escape(kinds)})</h3>",
            render_fields(schema, next(iter(sent.values()))),
        ]
    for status, answer in operation.get("responses", {}).items():
        content: dict[str, Any] = next(iter(answer.get("content", {}).values()), {})
        parts.append(f"<h3>{escape(status)}: {render_text(answer['description'])}</h3>")
        parts.append(render_fields(schema, content))
    return parts


def render_text(text: str) -> str:
    """Return a text as HTML, with the text between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def render_fields(schema: dict[str, Any], content: dict[str, Any]) -> str:
    """Return a table of the fields of a body."""
    shape = resolve(schema, content.get("schema", {}))
    if shape.get("type") == "array":
        shape = resolve(schema, shape.get("items", {}))
    rows = [
        f"<tr><th scope=row><code>{escape(name)}</code></th><td>{escape(kind)}</td>"
        f"<td>{render_text(field.get('description', ''))}</td></tr>"
        for name, field in shape.get("properties", {}).items()
        for kind in [name_type(schema, field)]
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def resolve(schema: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    """Resolve a reference."""
    name = shape.get("$ref", "").rpartition("/")[2]
    return schema["components"]["schemas"][name] if name else shape


def name_type(schema: dict[str, Any], field: dict[str, Any]) -> str:
    """Return the type of a field in words."""
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(name_type(schema, option) for option in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {name_type(schema, field.get('items', {}))}"
    if "enum" in field:
        return " or ".join(map(str, field["enum"]))
    return str(field.get("type", "anything"))
