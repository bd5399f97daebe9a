import { wrapText } from "@remat/trace/text";
import { type Drawn, textOnly } from "./drawn.js";

/** Explains why there is nothing to show, on as many lines as needed. */
export function note(text: string, width: number): Drawn {
  return textOnly(...wrapText(text, width).map((line) => [{ text: line, style: "faint" as const }]));
}
