/**
 * The sample rate that a compressed file has by its header.
 *
 * The browser decodes such files, but to the rate that it is asked for; asking for the file's own rate keeps it.
 */

const UNKNOWN = 48_000;
const MP3_RATES = [
  [11_025, 12_000, 8_000], // MPEG 2.5
  [],
  [22_050, 24_000, 16_000], // MPEG 2
  [44_100, 48_000, 32_000], // MPEG 1
];
const ADTS_RATES = [96e3, 88.2e3, 64e3, 48e3, 44.1e3, 32e3, 24e3, 22.05e3, 16e3, 12e3, 11.025e3, 8e3, 7.35e3];
const PATH = ["moov", "trak", "mdia"]; // the boxes of an MP4 file down to its time scales
const HEADER = 65_536;

export function sampleRateOf(bytes: ArrayBuffer): number {
  const head = new Uint8Array(bytes, 0, Math.min(bytes.byteLength, HEADER));
  const rate = flac(head) ?? ogg(head) ?? mp4(new Uint8Array(bytes)) ?? mpeg(new Uint8Array(bytes)) ?? UNKNOWN;
  return rate >= 8_000 && rate <= 192_000 ? rate : UNKNOWN;
}

function flac(head: Uint8Array): number | null {
  if (!has(head, 0, "fLaC") || head.length < 21) return null;
  return (head[18]! << 12) | (head[19]! << 4) | (head[20]! >> 4);
}

function ogg(head: Uint8Array): number | null {
  if (!has(head, 0, "OggS")) return null;
  const vorbis = find(head, "\x01vorbis");
  if (vorbis >= 0 && vorbis + 16 <= head.length) return new DataView(head.buffer).getUint32(vorbis + 12, true);
  const packed = find(head, "fLaC");
  if (packed >= 0) return flac(head.slice(packed));
  return UNKNOWN; // Opus
}

/** The time scale of the sound track, which is its sample rate: `mdhd` before a `hdlr` of the kind `soun`. */
function mp4(bytes: Uint8Array): number | null {
  if (!has(bytes, 4, "ftyp")) return null;
  const view = new DataView(bytes.buffer);
  let scale: number | null = null;
  const walk = (from: number, to: number, depth: number): number | null => {
    for (let at = from; at + 8 <= to; ) {
      let [size, head] = [view.getUint32(at), 8];
      if (size === 1 && at + 16 <= to) [size, head] = [Number(view.getBigUint64(at + 8)), 16];
      if (size === 0) size = to - at;
      if (size < head) return null;
      const [body, end] = [at + head, Math.min(at + size, to)];
      if (has(bytes, at + 4, "mdhd") && body + 24 <= end) scale = view.getUint32(body + (bytes[body] === 1 ? 20 : 12));
      if (has(bytes, at + 4, "hdlr") && has(bytes, body + 8, "soun") && scale) return scale;
      if (depth < PATH.length && has(bytes, at + 4, PATH[depth]!)) {
        const found = walk(body, end, depth + 1);
        if (found) return found;
      }
      at += size;
    }
    return null;
  };
  return walk(0, bytes.length, 0);
}

/** The first frame of an MP3 or AAC stream, behind an ID3 tag if there is one. */
function mpeg(bytes: Uint8Array): number | null {
  let at = 0;
  if (has(bytes, 0, "ID3") && bytes.length > 10) {
    at = 10 + ((bytes[6]! << 21) | (bytes[7]! << 14) | (bytes[8]! << 7) | bytes[9]!);
  }
  for (const end = Math.min(bytes.length - 4, at + HEADER); at < end; at++) {
    if (bytes[at] !== 0xff || (bytes[at + 1]! & 0xe0) !== 0xe0) continue;
    if ((bytes[at + 1]! & 0xf6) === 0xf0) return ADTS_RATES[(bytes[at + 2]! >> 2) & 15] ?? null;
    const rate = MP3_RATES[(bytes[at + 1]! >> 3) & 3]![(bytes[at + 2]! >> 2) & 3];
    if (rate && (bytes[at + 1]! >> 1) & 3 && bytes[at + 2]! >> 4 !== 15) return rate;
  }
  return null;
}

function has(bytes: Uint8Array, at: number, text: string): boolean {
  return [...text].every((letter, n) => bytes[at + n] === letter.charCodeAt(0));
}

function find(bytes: Uint8Array, text: string): number {
  for (let at = 0; at + text.length <= bytes.length; at++) if (has(bytes, at, text)) return at;
  return -1;
}
