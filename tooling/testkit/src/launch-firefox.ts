import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import puppeteer, { type Browser } from "puppeteer-core";
import { namedBy, onPath } from "./on-path.js";
import { requireTool } from "./require-tool.js";

/**
 * Finds a Firefox: the one named by `FIREFOX`, one on the PATH, or Debian's. On Linux it also needs Xvfb, since a
 * Firefox without a window has no WebGL.
 */
export function findFirefox(): string | undefined {
  const needsScreen = process.platform === "linux";
  return requireTool({
    name: "FIREFOX",
    find: () =>
      needsScreen && onPath("Xvfb") === undefined
        ? undefined
        : (namedBy("FIREFOX") ?? onPath("firefox-esr", "firefox")),
    packages: needsScreen ? ["firefox-esr", "xvfb", "libgl1-mesa-dri", "libegl1"] : ["firefox-esr"],
    withoutIt: "what pages do in Firefox is not tested",
    nextStep: "Install it (apt-get install firefox-esr xvfb) or name one: FIREFOX=/path/to/firefox.",
  });
}

/**
 * Starts a Firefox, driven by WebDriver BiDi, with a window. On Linux it has its own virtual screen, so that WebGL
 * computes in software. Closing it ends the screen.
 */
export async function launchFirefox(executablePath: string): Promise<Browser> {
  const screen = process.platform === "linux" ? await startScreen() : undefined;
  try {
    const browser = await puppeteer.launch({
      browser: "firefox",
      executablePath,
      headless: screen === undefined,
      extraPrefsFirefox: { "webgl.force-enabled": true, "dom.webgpu.enabled": false },
      env: { ...process.env, ...(screen === undefined ? {} : { DISPLAY: screen.display, LIBGL_ALWAYS_SOFTWARE: "1" }) },
    });
    browser.on("disconnected", () => screen?.server.kill());
    return browser;
  } catch (error) {
    screen?.server.kill();
    throw error;
  }
}

/** An X server without a display, on the first free display number. */
async function startScreen(): Promise<{ readonly server: ChildProcess; readonly display: string }> {
  const args = ["-displayfd", "3", "-screen", "0", "1920x1200x24", "-nolisten", "tcp"];
  const server = spawn("Xvfb", args, { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const number = server.stdio[3] as Readable;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`Xvfb ended with ${code} before it had a display.`)));
    number.once("data", (data: Buffer) => resolve({ server, display: `:${data.toString().trim()}` }));
  });
}
