"""How pages of reports look: light, dark and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: light-dark(#f5f4f0, #15181b);
  --card: light-dark(#ffffff, #1d2125);
  --line: light-dark(#dcdad3, #353b41);
  --ink: light-dark(#1c2024, #e8e6e1);
  --soft: light-dark(#5d615f, #a3a9ad);
  --source: light-dark(#0c6b66, #6fcac2);
  --target: light-dark(#b06a00, #e0b04c);
  --wrong: light-dark(#b42318, #ff8f85);
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 70rem; padding: 1.5rem clamp(.75rem, 3vw, 2rem) 3rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
    sans-serif;
}
h1 { font-size: 1.75rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; font-weight: 600; margin: 1.5rem 0 .5rem; }
p { margin: .25rem 0; }
.soft, figcaption, dt { color: var(--soft); }
section .soft { font-size: .875rem; }
.wrong { color: var(--wrong); font-weight: 600; }
a { color: var(--source); text-underline-offset: .2em; }
nav ul {
  list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem;
  margin: .75rem 0 0; padding: 0;
}
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 14px;
  margin-top: 1.5rem; padding: 1.25rem clamp(.75rem, 2vw, 1.5rem) 1.5rem;
}
.wide { overflow-x: auto; margin-top: 1.5rem; }
h2 + .wide { margin-top: 0; }
:focus-visible { outline: 2px solid var(--source); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
caption { text-align: start; padding-bottom: .25rem; font-weight: 600; font-size: 1rem; }
th, td {
  text-align: start; vertical-align: top;
  padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line);
}
thead th { color: var(--soft); font-weight: 500; font-size: .875rem; }
tbody th { font-weight: 500; }
tfoot th, tfoot td { font-weight: 650; border-bottom: 0; }
.number { width: 6.5rem; text-align: end; font-variant-numeric: tabular-nums; }
thead th.number { width: 6.5rem; text-align: end; }
.origin { font: .8125rem ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
dl {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(5.75rem, 1fr));
  gap: .75rem; margin: 0;
}
dt { font-size: .8125rem; }
dd { margin: 0; font-size: 1.125rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.two {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr));
  gap: 0 2rem;
}
figure { margin: 1rem 0 0; }
figcaption { font-size: .875rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
.axis { stroke: var(--soft); }
.grid { stroke: var(--line); stroke-dasharray: 3 3; }
rect.source, rect.both { fill: var(--source); }
rect.target { fill: var(--target); }
.key::before {
  content: ""; display: inline-block; width: .7em; height: .7em; margin-inline: .75em .35em;
  border-radius: 2px; background: var(--source); print-color-adjust: exact;
}
.key.target::before { background: var(--target); }
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  section { border: 0; border-top: 1px solid var(--line); border-radius: 0; padding: 1rem 0 0; }
  figure, tr, li, dl { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  .wide { overflow: visible; }
  rect { print-color-adjust: exact; }
}
"""
