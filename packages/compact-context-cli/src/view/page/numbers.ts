const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `12,345`. */
export function count(value: number): string {
  return WHOLE.format(value);
}

/** `840`, `12.3k`, `1.2M`: for tight places. */
export function short(value: number): string {
  if (value < 1000) return count(value);
  const [size, unit] = value < 999_500 ? [value / 1000, "k"] : [value / 1_000_000, "M"];
  return `${size < 100 ? size.toFixed(1).replace(/\.0$/, "") : Math.round(size)}${unit}`;
}

/** `63%` of the whole; `0%` of nothing. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part === 0) return "0%";
  const share = (part / whole) * 100;
  if (Math.abs(share) < 1) return "<1%";
  return `${Math.round(share)}%`;
}

/** `1 message`, `12,345 messages`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `0.4 ms`, `840 ms`, `12.3 s`, `4 min 5 s`, `2 h 5 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds === 0) return "0 ms";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  // Rounded before it is split: no minute has sixty seconds.
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** `14:03:09`, in the reader's own time; nothing for what is no time. */
export function clockTime(iso: string | undefined): string {
  const time = Date.parse(iso ?? "");
  return Number.isNaN(time) ? "" : CLOCK.format(time);
}

/** `3 Nov 2026, 14:03:09`. */
export function dateTime(iso: string | undefined): string {
  const time = Date.parse(iso ?? "");
  return Number.isNaN(time) ? "" : `${DAY.format(time)}, ${CLOCK.format(time)}`;
}
