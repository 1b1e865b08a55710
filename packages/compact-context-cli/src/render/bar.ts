const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of at most `width` cells for `value` of `most`; anything above zero is seen. */
export function bar(value: number, most: number, width: number): string {
  if (value <= 0 || most <= 0 || width <= 0) return "";
  const eighths = Math.min(width * 8, Math.max(1, Math.round((value / most) * width * 8)));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}
