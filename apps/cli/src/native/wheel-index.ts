import { RematError } from "@remat/trace";
import type { WheelRequirement } from "./pins.js";

/** A wheel as listed by an index. */
export interface WheelLink {
  readonly url: string;
  readonly fileName: string;
  /** Hexadecimal, or undefined if the index does not list it. */
  readonly sha256: string | undefined;
}

/**
 * The links on a page of the simple repository API (PEP 503), which every index serves.
 *
 * @internal
 */
export function parseIndex(html: string, pageUrl: string): readonly WheelLink[] {
  const links: WheelLink[] = [];
  for (const tag of html.split(/<a(?=\s)/i).slice(1)) {
    const [start, quote] = /^[^>]*?href\s*=\s*(["'])/i.exec(tag) ?? [];
    const end = start === undefined ? -1 : tag.indexOf(quote, start.length);
    if (start === undefined || end < 0) continue;
    const href = tag.slice(start.length, end);
    const url = new URL(href.replaceAll("&amp;", "&"), pageUrl);
    const sha256 = /^#sha256=([0-9a-f]{64})$/i.exec(url.hash)?.[1].toLowerCase();
    url.hash = "";
    links.push({ url: url.href, fileName: decodeURIComponent(url.pathname.split("/").at(-1) ?? ""), sha256 });
  }
  return links;
}

/**
 * The link to the pinned wheel.
 *
 * @throws RematError `NATIVE_WHEEL` if the index does not list it, or lists it with another hash
 * @internal
 */
export function findWheel(links: readonly WheelLink[], { fileName, sha256 }: WheelRequirement): WheelLink {
  const link = links.find((each) => each.fileName === fileName);
  if (link === undefined)
    throw new RematError(
      "NATIVE_WHEEL",
      `the index has no ${fileName}. Download it elsewhere and name the file with --tensorflow.`,
    );
  if (link.sha256 !== undefined && link.sha256 !== sha256)
    throw new RematError(
      "NATIVE_WHEEL",
      `${fileName} has SHA-256 ${link.sha256} in the index, expected ${sha256}. Use another index (PIP_INDEX_URL).`,
    );
  return link;
}
