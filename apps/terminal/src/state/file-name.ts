/** Returns `text` as a name that every file system takes. */
export function fileNameOf(text: string): string {
  const name = text
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+|-+$/g, "")
    .slice(0, 60);
  return name === "" ? "remat" : name.toLowerCase();
}
