/** What an editor or a terminal would not show as it is. */
const unshown = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Returns a text in double quotes, by escapes that JSON, JavaScript and Python share. `writeAstral` writes a character beyond U+FFFF that is not shown; left out:
 * as two halves, which Python does not read as one character.
 *
 * @internal
 */
export function quoteText(text: string, writeAstral: (code: number) => string = writeHalves): string {
  // JSON's quotes come first, so that what is escaped already stays.
  return JSON.stringify(text).replace(unshown, (character) => {
    const code = character.codePointAt(0)!;
    return code > 0xffff ? writeAstral(code) : writeUnit(code);
  });
}

const writeUnit = (code: number): string => `\\u${code.toString(16).padStart(4, "0")}`;

function writeHalves(code: number): string {
  const halves = String.fromCodePoint(code);
  return writeUnit(halves.charCodeAt(0)) + writeUnit(halves.charCodeAt(1));
}
