import { categoryColours } from "@remat/reporting";

const bands = (background: "light" | "dark"): string =>
  Object.entries(categoryColours)
    .map(([category, colour]) => `.${category}{fill:${colour[background]};background:${colour[background]}}`)
    .join("");

/** Styles of the panel. They are in a shadow root, so that they and the page's styles do not affect each other. */
export const styles: string = `
:host{all:initial!important;position:fixed!important;right:8px!important;bottom:8px!important;z-index:2147483000!important;color-scheme:light dark!important}
:host([hidden]){display:none!important}
*{box-sizing:border-box}
section{font:13px/1.4 system-ui,sans-serif;width:min(380px,calc(100vw - 16px));max-height:calc(100vh - 16px);overflow:auto;
color:#1b1b1b;background:#fff;border:1px solid #8a8a8a;border-radius:8px;box-shadow:0 2px 12px #0004}
header{display:flex;align-items:center;gap:8px;padding:6px 10px}
h2{font-size:13px;margin:0;flex:1;font-weight:600}
.body{padding:0 10px 10px}
svg{display:block;width:100%;height:120px;background:#f3f3f3;border-radius:4px}
.turn{stroke:#fff;stroke-width:2}
.budget{stroke:#b00020;stroke-width:2;stroke-dasharray:6 4}
p{margin:6px 0}
table{border-collapse:collapse;width:100%;margin:6px 0}
caption{text-align:left;font-weight:600;padding:2px 0}
th,td{padding:1px 0;text-align:left;font-weight:400;vertical-align:top;overflow-wrap:anywhere}
th{padding-right:8px}
td:last-child{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;padding-left:8px}
.swatch{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
.controls{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center}
label{display:inline-flex;align-items:center;gap:6px;min-height:24px}
input[type=text]{font:inherit;width:8ch;padding:2px 4px;border:1px solid #767676;border-radius:4px;color:inherit;background:transparent}
button{font:inherit;min-height:24px;padding:2px 8px;border:1px solid #767676;border-radius:4px;color:inherit;background:transparent;cursor:pointer}
button:disabled{color:#6b6b6b;cursor:default}
:focus-visible{outline:2px solid #1a5fd0;outline-offset:1px}
.error{color:#b00020}
${bands("light")}
@media (prefers-color-scheme:dark){
section{color:#eee;background:#1d1d1f;border-color:#777}
svg{background:#2a2a2d}
.turn{stroke:#1d1d1f}
.error{color:#ff8a80}.budget{stroke:#ff8a80}
button:disabled{color:#a0a0a0}
:focus-visible{outline-color:#7fb0ff}
${bands("dark")}
}
`;
