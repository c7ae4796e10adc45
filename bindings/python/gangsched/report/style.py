# SPDX-License-Identifier: Apache-2.0
"""The style sheet of a report: light, dark, and on paper."""

from ..viz.colours import COLOURS, PALETTE, USED

_BASE = """
:root{--back:#fff;--text:#1b2127;--soft:#5b6670;--line:#dfe4e8;--tile:#f5f7f9;--warn:#fff1d6;--link:#1f5f99}
@media (prefers-color-scheme:dark){:root{--back:#14181c;--text:#e4e8ec;--soft:#9aa5af;--line:#313940;--tile:#1d2329;
--warn:#43330f;--link:#7fb4e6}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1040px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:1.7em;line-height:1.2;margin:0 0 .3em;overflow-wrap:anywhere}
h2{font-size:1.15em;margin:2.2em 0 .5em;padding-bottom:.2em;border-bottom:1px solid var(--line)}
.lead{color:var(--soft);margin:.2em 0 1.4em;overflow-wrap:anywhere}
.note{color:var(--soft);font-size:.88em;margin:.1em 0 .7em}
.warn{background:var(--warn);border-left:4px solid #c9a227;padding:.5em .9em}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:12px}
@media (max-width:760px){.tiles{grid-template-columns:repeat(2,1fr)}}
.tile{background:var(--tile);border-radius:8px;padding:12px 14px;display:flex;flex-direction:column}
.tile b{font-size:1.5em;line-height:1.25;font-weight:600;font-variant-numeric:tabular-nums}
.tile span{font-size:.92em}.tile small{color:var(--soft);font-size:.8em}
.chart{display:block;width:100%;height:auto;overflow:visible}
.chart text{fill:var(--soft);font-size:11.5px}.chart .axis{font-size:11px}
.grid{stroke:var(--line);stroke-width:1;fill:none}.frame{stroke:var(--soft);stroke-width:1;fill:none}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.fill{stroke:none;fill-opacity:.22}.band{stroke:none;fill-opacity:.18}
.box{stroke:var(--back);stroke-width:.4}
image{image-rendering:auto}image.pixel{image-rendering:pixelated}
.hatch{fill:none;stroke:var(--soft);stroke-width:.9;opacity:.8}
.small{display:none}.multiple{margin:.5em 0 0 58px;font-size:.85em;color:var(--soft)}
@media screen and (max-width:600px){main{padding:20px 16px 40px}.large{display:none}.small{display:block}
.scroll{overflow-x:auto}.scroll .chart{min-width:720px}
td.w:last-child{min-width:17em}}
.legend{display:flex;flex-wrap:wrap;gap:2px 18px;margin:.3em 0 0 58px;font-size:.85em;color:var(--soft)}
.legend i,.multiple i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.wide{overflow-x:auto}.wide th,.wide td{padding:4px 5px}
table{border-collapse:collapse;width:100%;font-size:.88em;font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;text-align:right;vertical-align:top;border-bottom:1px solid var(--line)}
table.few{width:auto;min-width:45%}
th{font-weight:600;color:var(--soft);vertical-align:bottom}
td.w,th.w{text-align:left;overflow-wrap:break-word}td.n{white-space:nowrap}td.best{font-weight:700}
td.s{color:var(--soft)}
.bar{display:inline-block;width:84px;height:8px;background:var(--line);border-radius:3px;overflow:hidden;margin-right:7px;vertical-align:1px}
.bar i{display:block;height:100%;background:var(--link)}
pre{background:var(--tile);border-radius:6px;padding:10px 12px;font-size:.84em;white-space:pre-wrap;overflow-wrap:anywhere;margin:.4em 0}
h3{font-size:1em;margin:1.3em 0 .3em}
"""

#: On paper: backgrounds only where they carry meaning, all columns, no cuts inside a table row.
_PRINT = """
@media print{:root{--back:#fff;--text:#000;--soft:#444;--line:#ccc;--tile:#fff;--warn:#fff;--link:#1f5f99}
body{font-size:10pt}main{max-width:none;padding:0}h2{break-after:avoid;margin-top:1.4em}svg,tr,.tile{break-inside:avoid}
thead{display:table-header-group}.tiles{grid-template-columns:repeat(4,1fr);gap:6px}
.tile{border:1px solid var(--line);padding:6px 8px}.tile b{font-size:1.25em}
table{font-size:8pt}th,td{padding:2px 5px}.wide{overflow:visible}.bar{width:46px}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""


#: Keys of hatchings, in the directions of the picture.
_HATCH = "repeating-linear-gradient(%s,var(--soft) 0 1px,transparent 1px 4px)"


def _series() -> str:
    out = []
    for i, colour in enumerate(COLOURS):
        out.append(".f%d{fill:%s}.k%d{background:%s}" % (i, colour, i, colour))
    for i, colour in enumerate(PALETTE):
        out.append(".line.c%d{stroke:%s}.fill.c%d,.band.c%d{fill:%s}" % (i, colour, i, i, colour))
    for name, colour, dash in (("x", "text", ""), ("s", "soft", ""), ("d", "soft", "5 3")):
        rule = ".line.c%s{stroke:var(--%s);stroke-dasharray:%s}.fill.c%s,.band.c%s{fill:var(--%s)}.k%s{background:var(--%s)}"
        out.append(rule % (name, colour, dash or "none", name, name, colour, name, colour))
    rising, falling = _HATCH % "-45deg", _HATCH % "45deg"
    for name, image in (("down", rising), ("reserved", falling), ("draining", rising + "," + falling)):
        out.append(".h%s{background:%s;outline:1px solid var(--soft)}" % (name, image))
    return "".join([*out, ".ku{background:%s}" % USED])


CSS = _BASE.replace("\n", "") + _series() + _PRINT.replace("\n", "")
