import { unicodeText } from "@remat/testkit/unicode-text";
import fc from "fast-check";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { cutText, fitText, textWidth } from "../../src/text/fit-text.js";
import { asciiGlyphs, unicodeGlyphs } from "../../src/text/glyphs.js";
import { fitLine, lineWidth, paintLine } from "../../src/text/line.js";
import { showControls } from "../../src/text/show-controls.js";
import { createTheme } from "../../src/text/theme.js";
import { evilNames } from "../traces.js";

const anything = fc.oneof(unicodeText(), fc.string({ unit: "grapheme" }), fc.constantFrom(...evilNames));

describe("text from a trace", () => {
  it("has its control characters written out", () => {
    expect(showControls("\u001b[31mred\u0007")).toBe("\\x1b[31mred\\x07");
    expect(showControls("a\nb\tc\u009b")).toBe("a\\x0ab\\x09c\\x9b");
    expect(showControls("\u202eabc\u2028")).toBe("\\u{202e}abc\\u{2028}");
    expect(showControls("plain name.0")).toBe("plain name.0");
    expect(showControls("12.3 µs … 宽", true)).toBe("12.3 us ~ \\u{5bbd}");
  });

  it("never brings a control character to the terminal, whatever it is", () => {
    const plain = createTheme("dark", "truecolor", true);
    const coloured = createTheme("dark", "truecolor");
    fc.assert(
      fc.property(anything, (text) => {
        expect(paintLine([{ text }], plain, unicodeGlyphs)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
        expect(paintLine([{ text }], plain, asciiGlyphs)).toMatch(/^[\x20-\x7e]*$/);
        // In colours there are only the sequences of the style itself.
        const painted = paintLine([{ text, style: "good" }], coloured, unicodeGlyphs);
        expect(painted.replace(/^\u001b\[[\d;]*m|\u001b\[0m$/g, "")).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  it("is cut and filled to the width that it is given", () => {
    fc.assert(
      fc.property(
        anything,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom("left", "right"),
        fc.constantFrom("start", "end"),
        (text, width, align, cut) => {
          expect(textWidth(fitText(text, width, unicodeGlyphs, { align, cut }))).toBe(width);
          expect(textWidth(cutText(showControls(text), width, unicodeGlyphs))).toBeLessThanOrEqual(width);
          expect(lineWidth(fitLine([{ text }, { text }], width, unicodeGlyphs))).toBe(width);
        },
      ),
    );
  });

  it("has the width that Ink takes it to have", () => {
    const drawn = Object.values(unicodeGlyphs)
      .flat()
      .filter((glyph) => typeof glyph === "string");
    for (const glyph of [...drawn, "µ", "×", "é"]) expect(textWidth(glyph), glyph).toBe(stringWidth(glyph));
    fc.assert(
      fc.property(anything, (text) => {
        expect(textWidth(showControls(text))).toBe(stringWidth(showControls(text)));
      }),
    );
  });

  it("is cut at the end that matters less", () => {
    expect(fitText("resnet50.conv1.bn", 8, unicodeGlyphs)).toBe("resnet5…");
    expect(fitText("resnet50.conv1.bn", 8, unicodeGlyphs, { cut: "start" })).toBe("conv1.bn".replace(/^./, "…"));
    expect(fitText("ab", 5, unicodeGlyphs, { align: "right" })).toBe("   ab");
  });
});
