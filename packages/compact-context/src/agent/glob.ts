import picomatch from "picomatch";

/**
 * A glob over `/`-separated relative paths, as Bash and Git read it. A pattern that names a folder means everything in it, and
 * `folder/**` what is in it without the folder itself.
 */
export function globPattern(glob: string): RegExp {
  const clean = glob
    .trim()
    .replace(/^\.\//, "")
    .replace(/\/+$/, "")
    .replace(/\/\*\*(?=$|[,})])/g, "/**/*");
  const below = /(?:^|\/)\*\*(?:\/\*)?$/.test(clean) ? [clean] : [clean, `${clean}/**/*`];
  const sources = below.map((one) => picomatch.makeRe(one, { dot: true, nonegate: true }).source);
  return new RegExp(sources.map((source) => `(?:${source})`).join("|"), "s");
}
