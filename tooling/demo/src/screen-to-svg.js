const cell = { width: 8.4, height: 18 };
const padding = 12;
const basic = ["#1c2128", "#e5534b", "#57ab5a", "#c69026", "#539bf5", "#b083f0", "#39c5cf", "#adbac7"];
const bright = ["#636e7b", "#ff938a", "#6bc46d", "#daaa3f", "#6cb6ff", "#dcbdfb", "#56d4dd", "#cdd9e5"];

/**
 * Converts a screen captured by tmux (`capture-pane -e`: text with SGR sequences) to an SVG picture of the terminal.
 *
 * @param {string} screen
 * @param {{ columns: number, background?: string, foreground?: string, title?: string }} options
 */
export function screenToSvg(screen, { columns, background = "#161b22", foreground = "#c9d1d9", title = "remat ui" }) {
  const lines = screen.replace(/\n$/, "").split("\n");
  const width = columns * cell.width + 2 * padding;
  const height = lines.length * cell.height + 2 * padding;
  const shapes = [];
  const texts = [];
  // A line starts with the style at the end of the previous one, as tmux captures it.
  const pen = { style: {} };
  for (const [row, line] of lines.entries()) {
    let column = 0;
    for (const { text, style } of runs(line, pen)) {
      const count = widthOf(text);
      const x = padding + column * cell.width;
      const y = padding + row * cell.height;
      let { fg = foreground, bg } = style;
      if (style.inverse) [fg, bg] = [bg ?? background, fg];
      if (bg !== undefined)
        shapes.push(
          `<rect x="${round(x)}" y="${round(y)}" width="${round(count * cell.width + 0.05)}" height="${cell.height}" fill="${bg}"/>`,
        );
      for (const [i, character] of [...text].entries()) {
        const block = blockOf(character);
        if (block === undefined) continue;
        const left = x + i * cell.width;
        shapes.push(
          `<rect x="${round(left)}" y="${round(y + cell.height * (1 - block.height))}" width="${round(cell.width * block.width + 0.05)}" height="${round(cell.height * block.height + 0.05)}" fill="${fg}"/>`,
        );
      }
      const rest = [...text].map((character) => (blockOf(character) === undefined ? character : " ")).join("");
      if (rest.trim() !== "")
        for (const part of parts(rest)) {
          const from = x + part.column * cell.width;
          texts.push(
            `<text x="${round(from)}" y="${round(y + 13.5)}" fill="${fg}"${style.bold ? ' font-weight="700"' : ""} textLength="${round(part.width * cell.width)}" lengthAdjust="spacingAndGlyphs">${escape(part.text)}</text>`,
          );
        }
      column += count;
    }
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}" role="img" aria-label="${escape(title)}">`,
    `<title>${escape(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${background}"/>`,
    `<g shape-rendering="crispEdges">${shapes.join("")}</g>`,
    `<g font-family="'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" xml:space="preserve">`,
    ...texts,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** Blocks are drawn as shapes, since fonts leave gaps between two rows. */
function blockOf(character) {
  const code = character.codePointAt(0);
  if (code >= 0x2581 && code <= 0x2588) return { width: 1, height: (code - 0x2580) / 8 };
  if (code >= 0x2589 && code <= 0x258f) return { width: (0x2590 - code) / 8, height: 1 };
  return undefined;
}

/** Splits text at runs of spaces and positions each part, so that a missing glyph does not shift the rest. */
function* parts(text) {
  for (const match of text.matchAll(/\S+(?: \S+)*/g))
    yield { text: match[0], column: widthOf(text.slice(0, match.index)), width: widthOf(match[0]) };
}

function* runs(line, pen) {
  let at = 0;
  for (const match of line.matchAll(/\u001b\[([\d;:]*)m/g)) {
    if (match.index > at) yield { text: line.slice(at, match.index), style: pen.style };
    pen.style = changed(pen.style, match[1]);
    at = match.index + match[0].length;
  }
  if (at < line.length) yield { text: line.slice(at), style: pen.style };
}

function changed(before, sequence) {
  const codes = sequence.split(/[;:]/).map(Number);
  let style = { ...before };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i];
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) style.bold = false;
    else if (code === 27) style.inverse = false;
    else if (code === 39) delete style.fg;
    else if (code === 49) delete style.bg;
    else if (code === 38 || code === 48) {
      const isTrue = codes[i + 1] === 2;
      const colour = isTrue ? hex(codes.slice(i + 2, i + 5)) : indexed(codes[i + 2]);
      style[code === 38 ? "fg" : "bg"] = colour;
      i += isTrue ? 4 : 2;
    } else if (code >= 30 && code <= 37) style.fg = basic[code - 30];
    else if (code >= 90 && code <= 97) style.fg = bright[code - 90];
    else if (code >= 40 && code <= 47) style.bg = basic[code - 40];
    else if (code >= 100 && code <= 107) style.bg = bright[code - 100];
  }
  return style;
}

function indexed(index) {
  if (index < 8) return basic[index];
  if (index < 16) return bright[index - 8];
  if (index >= 232) return hex(new Array(3).fill(8 + 10 * (index - 232)));
  const levels = [0, 95, 135, 175, 215, 255];
  const cube = index - 16;
  return hex([levels[Math.floor(cube / 36)], levels[Math.floor(cube / 6) % 6], levels[cube % 6]]);
}

function hex(parts) {
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** The app's own characters all take one cell. */
function widthOf(text) {
  return [...text].length;
}

function round(value) {
  return Number(value.toFixed(2));
}

function escape(text) {
  return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
}
