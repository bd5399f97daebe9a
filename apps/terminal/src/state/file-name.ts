/** Converts `text` to a name that every file system accepts. */
export function fileNameOf(text: string): string {
  const name = text
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+|-+$/g, "")
    .slice(0, 60);
  return name === "" ? "remat" : name.toLowerCase();
}
