/** Saves data as a file on the reader's machine. Nothing is sent anywhere. */
export function download(name: string, parts: readonly BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name that every file system accepts. */
function fileName(name: string): string {
  return (
    name
      .replace(/[^\p{L}\p{N}._-]+/gu, "-")
      .replace(/^[-.]+/, "")
      .slice(0, 100) || "report"
  );
}

export function exportSvg(name: string, svg: string): void {
  download(`${name}.svg`, [svg], "image/svg+xml");
}

/** Saves a picture with twice the resolution of the screen, for print. */
export async function exportPng(name: string, svg: string): Promise<void> {
  const image = new Image();
  // A page opened from a file may only draw its own data, so this is not a blob URL.
  image.src = `data:image/svg+xml;base64,${base64(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.naturalWidth;
  canvas.height = 2 * image.naturalHeight;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob !== null) download(`${name}.png`, [blob], "image/png");
}

/** Encodes the UTF-8 of a text as base64. A lone surrogate becomes U+FFFD. */
function base64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Properties set by the style sheet. All but the last are inherited. */
const carried = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "paint-order",
  "font-size",
  "font-weight",
  "text-anchor",
  "opacity",
];

/** Returns an SVG of the page as a standalone document, with the properties of the style sheet written into it. */
export function standaloneSvg(svg: SVGSVGElement, background: string): string {
  const { width, height } = svg.getBoundingClientRect();
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = [copy, ...copy.querySelectorAll("*")];
  for (const [i, element] of [svg, ...svg.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(element);
    const around = i === 0 ? undefined : getComputedStyle(element.parentElement!);
    for (const property of carried) {
      const value = style.getPropertyValue(property);
      if (property === "opacity" ? value !== "1" : value !== around?.getPropertyValue(property))
        copies[i].setAttribute(property, value);
      else copies[i].removeAttribute(property);
    }
    for (const name of ["class", "tabindex", "role"]) copies[i].removeAttribute(name);
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.round(width)));
  copy.setAttribute("height", String(Math.round(height)));
  copy.setAttribute("font-family", "system-ui, sans-serif");
  copy.removeAttribute("class");
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of [
    ["width", "100%"],
    ["height", "100%"],
    ["fill", background],
  ])
    paper.setAttribute(name, value);
  copy.prepend(paper);
  // XML does not allow control characters, which names may contain.
  return new XMLSerializer().serializeToString(copy).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");
}
