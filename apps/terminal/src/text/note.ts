import { wrapText } from "@remat/trace/text";
import { type Drawn, textOnly } from "./drawn.js";

/** Says in as many lines as it takes why there is nothing to show. */
export function note(text: string, width: number): Drawn {
  return textOnly(...wrapText(text, width).map((line) => [{ text: line, style: "faint" as const }]));
}
