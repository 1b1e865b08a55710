import type { Finding } from "./finding.ts";

const KIND = /^\s{0,20}kind:\s*["']?(\w+)/;
const BLOCK = /^(\s{0,20})(?:data|stringData):\s*$/;
const ENTRY = /^(\s{1,40}[\w.-]{1,128}:[ \t]{1,8}["']?)([^\s"'{}|>#<][^\s"']{3,8191})/;

/** The values of `data` and `stringData` in YAML manifests of kind Secret. */
export function* findKubernetesSecrets(text: string): Generator<Finding> {
  if (!/\bkind:[ \t]{0,4}["']?Secret\b/.test(text)) return;
  let offset = 0;
  let indent: number | undefined;
  for (const { line, isSecret } of linesOfManifests(text)) {
    if (endsBlock(line, indent)) indent = undefined;
    const entry = indent === undefined ? null : ENTRY.exec(line);
    if (entry !== null) {
      const start = offset + (entry[1]?.length ?? 0);
      yield { start, end: start + (entry[2]?.length ?? 0), kind: "kubernetes-secret" };
    }
    if (isSecret) indent ??= BLOCK.exec(line)?.[1]?.length;
    offset += line.length + 1;
  }
}

function endsBlock(line: string, indent: number | undefined): boolean {
  const depth = line.search(/\S/);
  return indent !== undefined && depth >= 0 && depth <= indent;
}

/** Every line and whether its manifest, from `---` to `---`, is a Secret. */
function linesOfManifests(text: string): { line: string; isSecret: boolean }[] {
  const lines = text.split("\n");
  const manifests: { line: string; manifest: { isSecret: boolean } }[] = [];
  let manifest = { isSecret: false };
  for (const line of lines) {
    if (/^---/.test(line)) manifest = { isSecret: false };
    if (KIND.exec(line)?.[1] === "Secret") manifest.isSecret = true;
    manifests.push({ line, manifest });
  }
  return manifests.map(({ line, manifest: { isSecret } }) => ({ line, isSecret }));
}
