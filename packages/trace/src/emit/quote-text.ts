/** Characters that an editor or a terminal does not show. */
const unshown = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Returns a text in double quotes, with escapes that JSON, JavaScript and Python share.
 *
 * @param writeAstral escapes a hidden character beyond U+FFFF. The default writes two surrogates, which Python does not
 * read as one character
 * @internal
 */
export function quoteText(text: string, writeAstral: (code: number) => string = writeHalves): string {
  // JSON's escapes come first, so that the second step does not touch escaped characters.
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
