import { expect, it } from "vitest";
import { flowing } from "../src/html/flowing.js";

const flow = (text: string): string =>
  flowing(text)
    .map(({ html }) => html)
    .join("");

it.each([
  ["38% less: 1.518 GiB with early release", "38% less: 1.518\u00a0GiB with early release"],
  ["a step of 17.79 ms, 3 s", "a step of 17.79\u00a0ms, 3\u00a0s"],
  ["in 676 storages, conv*_block*_*_bn.", "in 676 storages, conv*_<wbr>block*_<wbr>*_<wbr>bn."],
  ["op 3 Add of net50.h.0.attn.", "op 3 Add of net50.<wbr>h.<wbr>0.<wbr>attn."],
  ["<b> 4.5", "&lt;b&gt; 4.5"],
])("%s: names break between their parts, numbers not at all", (text, expected) => {
  expect(flow(text)).toBe(expected);
});
