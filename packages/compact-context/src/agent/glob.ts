/**
 * A glob over `/`-separated relative paths: `*` and `?` stay inside of a segment, `**` spans any number of them,
 * `{a,b/c}` is either. A pattern that names a folder means everything in it.
 */
export function globPattern(glob: string): RegExp {
  const clean = glob.trim().replace(/^\.\//, "").replace(/\/+$/, "");
  const below = /(?:^|\/)\*\*$/.test(clean) ? "" : "(?:/.*)?";
  return new RegExp(`^(?:${sourceOf(clean)})${below}$`, "s");
}

/** `**` as a whole segment, other wildcards, a closed brace without another one in it; the rest is itself. */
const PIECE = /(?<=^|\/)\*\*(\/|$)|\*+|\?|\{[^{}]*\}|[^*?{]+|\{/g;

function sourceOf(glob: string): string {
  return glob.replace(PIECE, (piece: string, end: string | undefined) => {
    if (end !== undefined) return end === "" ? ".*" : "(?:[^/]+/)*";
    if (piece.startsWith("*")) return "[^/]*";
    if (piece === "?") return "[^/]";
    if (/^\{.*\}$/s.test(piece)) return `(?:${piece.slice(1, -1).split(",").map(sourceOf).join("|")})`;
    return piece.replace(/[\\^$.+()[\]{}|]/g, "\\$&");
  });
}
