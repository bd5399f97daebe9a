import { installByApt } from "./install-by-apt.js";

/** A tool that tests need beyond npm, and the tests that are skipped without it. */
export interface Tool<Found> {
  /** Name in the message if it is missing: `CHROMIUM`. */
  readonly name: string;
  readonly find: () => Found | undefined;
  /** Debian's packages that contain it. */
  readonly packages: readonly string[];
  /** `what runs in a browser is not tested` */
  readonly withoutIt: string;
  /** `Install one (apt-get install chromium) or name it: CHROMIUM=/path/to/chrome.` */
  readonly nextStep: string;
}

/**
 * Finds a tool. If it is missing, installs it if {@link installByApt} may. Otherwise the tests that need it are skipped
 * with a message, which is a failure in CI.
 */
export function requireTool<Found>({ name, find, packages, withoutIt, nextStep }: Tool<Found>): Found | undefined {
  const found = find() ?? (installByApt(...packages) ? find() : undefined);
  if (found !== undefined) return found;
  const message = `NO ${name}: ${withoutIt}. ${nextStep} As root on Debian, REMAT_INSTALL_TOOLS=1 installs it.`;
  if (process.env["CI"] === "true") throw new Error(message);
  console.error(`\n${"!".repeat(message.length)}\n${message}\n${"!".repeat(message.length)}\n`);
  return undefined;
}
