import { crc32 } from "../../core/checksum.ts";
import { ALPHABETS } from "./alphabets.ts";

const DIGITS = ALPHABETS.base62;
const CHECK_LENGTH = 6;

/**
 * The checksum that GitHub and npm put at the end of a token: CRC-32 of what stands between prefix and checksum,
 * in base 62, six characters. https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
 */
export function checksumOf(entropy: string): string {
  let rest = crc32(entropy);
  let digits = "";
  for (; rest > 0; rest = Math.floor(rest / 62)) digits = DIGITS.charAt(rest % 62) + digits;
  return digits.padStart(CHECK_LENGTH, "0");
}

/** True when the last six characters of a token's body are the checksum of the others. */
export function hasChecksum(body: string): boolean {
  return checksumOf(body.slice(0, -CHECK_LENGTH)) === body.slice(-CHECK_LENGTH);
}
