const POLYNOMIAL = 0xedb88320;
const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

/** CRC-32 (ISO-HDLC, as in zip files) of UTF-8 text, eight hex digits: finds damage, proves no origin. */
export function crc32Hex(text: string): string {
  let value = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0);
  }
  return ((value ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}
