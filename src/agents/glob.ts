/**
 * A glob over `/`-separated relative paths: `*` and `?` stay inside of a segment, `**` spans any number of them,
 * `{a,b}` is either. A pattern that names a folder means everything in it. No backtracking over segments: linear in practice
 * for the short patterns that people write.
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

/** Undefined for `**`. */
function segmentSource(segment: string): string | undefined {
  if (segment === "**") return undefined;
  let depth = 0;
  let source = "";
  for (const sign of segment) {
    if (sign === "*") source += source.endsWith("[^/]*") ? "" : "[^/]*";
    else if (sign === "?") source += "[^/]";
    else if (sign === "{") {
      depth += 1;
      source += "(?:";
    } else if (sign === "}" && depth > 0) {
      depth -= 1;
      source += ")";
    } else if (sign === "," && depth > 0) source += "|";
    else source += sign.replace(/[\\^$.*+?()[\]{}|]/, "\\$&");
  }
  return `${source}${")".repeat(depth)}`;
}
