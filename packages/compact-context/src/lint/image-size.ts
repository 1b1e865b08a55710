/** Pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Base64 characters that hold the size of all but a JPEG, where it stands behind thumbnail and colour profile. */
const SHORT = 64;
const LONG = 400_000;

/** The size that the header of a PNG, JPEG, GIF or WebP names; undefined for anything else. `data` is base64. */
export function imageSize(data: string): ImageSize | undefined {
  const bytes = bytesOf(data.slice(0, data.startsWith("/9j/") ? LONG : SHORT));
  const view = new DataView(bytes.buffer);
  try {
    if (data.startsWith("iVBORw0KGgo")) return { width: view.getUint32(16), height: view.getUint32(20) };
    if (data.startsWith("R0lGOD")) return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
    if (data.startsWith("UklGR")) return webpSize(view);
    return data.startsWith("/9j/") ? jpegSize(view) : undefined;
  } catch {
    // The data ends before its header does.
    return undefined;
  }
}

function bytesOf(data: string): Uint8Array {
  try {
    return Uint8Array.from(atob(data.slice(0, data.length - (data.length % 4))), (one) => one.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/** The first frame header; segments before it say how long they are. */
function jpegSize(view: DataView): ImageSize {
  let place = 2;
  for (;;) {
    const marker = view.getUint8(place + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: view.getUint16(place + 5), width: view.getUint16(place + 7) };
    place += 2 + view.getUint16(place + 2);
  }
}

/** Extended, lossless and lossy files each write it another way. */
function webpSize(view: DataView): ImageSize | undefined {
  switch (String.fromCharCode(view.getUint8(12), view.getUint8(13), view.getUint8(14), view.getUint8(15))) {
    case "VP8X":
      return { width: 1 + uint24(view, 24), height: 1 + uint24(view, 27) };
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case "VP8 ":
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    default:
      return undefined;
  }
}

function uint24(view: DataView, place: number): number {
  return view.getUint16(place, true) + view.getUint8(place + 2) * 0x1_00_00;
}
