/// <reference lib="dom" />
import { findFirefox, launchFirefox } from "@remat/testkit/firefox";
import { describe, expect, it } from "vitest";

const path = findFirefox();

describe.runIf(path !== undefined)("launchFirefox", () => {
  it("opens pages that have a size of their own and WebGL 2", async () => {
    const browser = await launchFirefox(path ?? "");
    try {
      const page = await browser.newPage();
      await page.setViewport({ width: 360, height: 640 });
      await page.goto("data:text/html,<canvas></canvas>");
      const seen = await page.evaluate(() => {
        const context = document.querySelector("canvas")?.getContext("webgl2");
        return { width: innerWidth, hasFloats: context?.getExtension("EXT_color_buffer_float") !== null };
      });
      expect(seen).toEqual({ width: 360, hasFloats: true });
    } finally {
      await browser.close();
    }
  });
});
