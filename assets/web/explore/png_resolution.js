// Says in a PNG file how many pixels an inch has, so that programs set it at the width it was made for.

const HEADER = 8 + 25; // the signature and the first chunk, which must stay first
const INCH = 0.0254; // meters

// The file with a pHYs chunk (PNG, 3rd edition, 11.3.4.3).
export function withDpi(/** @type {Blob} */ blob, /** @type {number} */ dpi) {
  const chunk = new DataView(new ArrayBuffer(21));
  const perMeter = Math.round(dpi / INCH);
  chunk.setUint32(0, 9);
  for (const [at, letter] of [..."pHYs"].entries()) chunk.setUint8(4 + at, letter.charCodeAt(0));
  chunk.setUint32(8, perMeter);
  chunk.setUint32(12, perMeter);
  chunk.setUint8(16, 1); // the unit is the meter
  chunk.setUint32(17, crc(new Uint8Array(chunk.buffer, 4, 13)));
  return new Blob([blob.slice(0, HEADER), chunk.buffer, blob.slice(HEADER)], { type: "image/png" });
}

// The checksum of a chunk, CRC-32 bit by bit.
function crc(/** @type {Uint8Array} */ bytes) {
  let found = ~0;
  for (const byte of bytes) {
    found ^= byte;
    for (let bit = 0; bit < 8; bit++) found = (found >>> 1) ^ (found & 1 ? 0xedb88320 : 0);
  }
  return ~found >>> 0;
}
