/**
 * A glob over `/`-separated relative paths: `*` and `?` stay inside of a segment, `**` spans any number of them,
 * `{a,b}` is either. A pattern that names a folder means everything in it.
 */
export function globPattern(glob: string): RegExp {
  const clean = glob.trim().replace(/^\.\//, "").replace(/\/+$/, "");
  const source = clean.split("/").map(segmentSource);
  let text = "";
  source.forEach((segment, index) => {
    const last = index === source.length - 1;
    if (segment === undefined) text += last ? ".*" : "(?:[^/]+/)*";
    else text += last ? segment : `${segment}/`;
  });
  return new RegExp(`^${text}${source.at(-1) === undefined ? "" : "(?:/.*)?"}$`, "s");
}

/** Undefined for `**`. A brace that is not closed is a brace. */
function segmentSource(segment: string): string | undefined {
  if (segment === "**") return undefined;
  return segment
    .split(/(\{[^{}]*\})/)
    .map((piece) => {
      const choices = /^\{(.*)\}$/.exec(piece)?.[1];
      return choices === undefined
        ? plainSource(piece)
        : `(?:${choices.split(",").map(plainSource).join("|")})`;
    })
    .join("");
}

function plainSource(text: string): string {
  return text
    .replace(/[\\^$.+()[\]{}|]/g, "\\$&")
    .replace(/\*+/g, "[^/]*")
    .replace(/\?/g, "[^/]");
}
