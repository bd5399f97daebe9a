import { displaySafe } from "@remat/trace/emit";

/** Draws a chart: on a canvas on screen, or in an SVG document for a file. Coordinates are CSS pixels. */
export interface Painter {
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  /** Fills the area between two lines over the same x. */
  area(x: Float64Array, upper: Float64Array, lower: Float64Array, fill: string): void;
  /** Draws a line with gaps where y is NaN. */
  line(x: Float64Array, y: Float64Array, stroke: string, options?: LineOptions): void;
  text(x: number, y: number, text: string, fill: string, options?: TextOptions): void;
}

export interface LineOptions {
  readonly width?: number;
  readonly dash?: readonly number[];
}

export interface TextOptions {
  readonly anchor?: "start" | "middle" | "end";
  readonly isStrong?: boolean;
}

export const chartFont = "system-ui, sans-serif";
export const chartFontSize = 12;

/** Draws on a canvas, sharp on every screen. */
export class CanvasPainter implements Painter {
  private readonly context: CanvasRenderingContext2D;

  constructor(canvas: HTMLCanvasElement, width: number, height: number) {
    const ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("the browser gives no canvas to draw on");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.context = context;
  }

  rect(x: number, y: number, width: number, height: number, fill: string): void {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  area(x: Float64Array, upper: Float64Array, lower: Float64Array, fill: string): void {
    const { context } = this;
    context.beginPath();
    for (let i = 0; i < x.length; i++) context.lineTo(x[i], upper[i]);
    for (let i = x.length - 1; i >= 0; i--) context.lineTo(x[i], lower[i]);
    context.closePath();
    context.fillStyle = fill;
    context.fill();
  }

  line(x: Float64Array, y: Float64Array, stroke: string, { width = 1, dash = [] }: LineOptions = {}): void {
    const { context } = this;
    context.beginPath();
    let isDown = false;
    for (let i = 0; i < x.length; i++) {
      if (Number.isNaN(y[i])) isDown = false;
      else if (isDown) context.lineTo(x[i], y[i]);
      else {
        context.moveTo(x[i], y[i]);
        isDown = true;
      }
    }
    context.setLineDash([...dash]);
    context.lineWidth = width;
    context.strokeStyle = stroke;
    context.lineJoin = "round";
    context.stroke();
    context.setLineDash([]);
  }

  text(x: number, y: number, text: string, fill: string, { anchor = "start", isStrong }: TextOptions = {}): void {
    const { context } = this;
    context.font = `${isStrong ? "600 " : ""}${chartFontSize}px ${chartFont}`;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.textBaseline = "alphabetic";
    context.fillStyle = fill;
    context.fillText(displaySafe(text), x, y);
  }
}
