import type { Finding } from "./finding.ts";

const LONGEST_MANIFEST_HEAD = 20;

/** The values of `data` and `stringData` in YAML manifests of kind Secret. */
export function* findKubernetesSecrets(text: string): Generator<Finding> {
  if (!/\bkind:[ \t]{0,4}["']?Secret\b/.test(text)) return;
  let offset = 0;
  let indent = -1;
  let linesSinceKind = Number.POSITIVE_INFINITY;
  let announced = false;
  for (const line of text.split("\n")) {
    const depth = line.search(/\S/);
    if (/^\s{0,20}kind:\s*["']?Secret\b/.test(line)) linesSinceKind = 0;
    else if (/^\s{0,20}(?:kind:\s*\w|---)/.test(line)) linesSinceKind = Number.POSITIVE_INFINITY;
    else linesSinceKind += 1;
    if (indent >= 0 && depth >= 0 && depth <= indent) indent = -1;
    const value =
      indent < 0 ? null : /^(\s{1,40}[\w.-]{1,128}:[ \t]{1,8}["']?)([^\s"'{}|>#<][^\s"']{3,8191})/.exec(line);
    if (value !== null) {
      const start = offset + (value[1]?.length ?? 0);
      yield { start, end: start + (value[2]?.length ?? 0), kind: "kubernetes-secret" };
    }
    announced = linesSinceKind <= LONGEST_MANIFEST_HEAD || announced;
    if (announced && /^\s{0,20}(?:data|stringData):\s*$/.test(line)) indent = depth;
    offset += line.length + 1;
  }
}
