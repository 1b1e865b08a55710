const SEAL = /seal_[0-9a-z]+_/g;

/** Mixes a text into a running digest (cyrb53, public domain). */
function mix(digest: number, text: string): number {
  let high = 0xdeadbeef ^ (digest >>> 0);
  let low = 0x41c6ce57 ^ Math.floor(digest / 2 ** 32);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}

const sealOf = (digest: number): string => `seal_${digest.toString(36)}_`;

/**
 * Seals entries like a provider that binds its reasoning: each seal is a digest of everything before its
 * entry, starting with the sent messages.
 */
export function sealEntries(sent: readonly unknown[], entries: readonly unknown[]): unknown[] {
  let digest = sent.reduce<number>((running, entry) => mix(running, JSON.stringify(entry)), 0);
  return entries.map((entry) => {
    const text = JSON.stringify(entry);
    const sealed = text.replace(SEAL, sealOf(digest));
    digest = mix(digest, sealed);
    return sealed === text ? entry : (JSON.parse(sealed) as unknown);
  });
}

/** Indexes of entries whose seal belongs to another prefix: such a provider rejects or drops them. */
export function brokenSeals(list: readonly unknown[]): number[] {
  let digest = 0;
  return list.flatMap((entry, index) => {
    const text = JSON.stringify(entry);
    const wanted = sealOf(digest);
    digest = mix(digest, text);
    return (text.match(SEAL) ?? []).some((seal) => seal !== wanted) ? [index] : [];
  });
}
