/** Returns a text with its first letter in upper case, to begin a sentence. @internal */
export const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
